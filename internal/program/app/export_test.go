package app

import "net/http"

// AdminHandler returns the handler of the admin listener.
func (a *App) AdminHandler() http.Handler { return a.admin.Handler() }
