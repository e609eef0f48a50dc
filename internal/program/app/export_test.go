package app

import "net/http"

// AdminHandler returns the admin listener's handler.
func (a *App) AdminHandler() http.Handler { return a.admin.Handler() }
