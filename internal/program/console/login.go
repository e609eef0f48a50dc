package console

import (
	"net/http"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
)

type loginPage struct {
	view
	signin.Page
}

// SignInPage is what whoever is not known is shown; see signin.Options.
func (c *Console) SignInPage(w http.ResponseWriter, r *http.Request, p signin.Page) {
	c.serve(func(w http.ResponseWriter, r *http.Request) error {
		shown := loginPage{view: c.view(r, "", "Sign in"), Page: p}
		shown.Bare, shown.Done = true, ""
		return c.render(w, p.Status, "login", shown)
	}).ServeHTTP(w, r)
}
