package app

import "net/http"

// AdminHandler is everything that the admin listener serves.
func (a *App) AdminHandler() http.Handler { return a.admin.Handler() }
