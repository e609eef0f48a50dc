package console

import (
	"net/http"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
)

type loginPage struct {
	view
	signin.Page
}

// SignInPage renders the sign-in page: see signin.Options.
func (c *Console) SignInPage(w http.ResponseWriter, r *http.Request, p signin.Page) {
	c.serve(false, func(r *request) error {
		shown := loginPage{view: r.view("", "Sign in"), Page: p}
		shown.Bare, shown.Done = true, ""
		return r.render(p.Status, "login", shown)
	}).ServeHTTP(w, r)
}
