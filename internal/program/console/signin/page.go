package signin

import (
	"net/http"
	"strings"
)

// Page is the content of the sign-in page.
type Page struct {
	Status int
	// Next is the path to open after the sign-in, relative to the console's path.
	Next string
	// Wrong is the reason why the sign-in failed. It is empty before the first try.
	Wrong string
	// Token is true if the page accepts a token, and AsksName is true if it accepts a name too.
	Token, AsksName bool
	Name            string // name that the user entered
	// Provider is the host of the provider at which users can sign in, or empty.
	Provider string
	// Proxy is true if a proxy identifies users.
	Proxy bool
}

// show renders the sign-in page, or a problem if the listener has no pages.
func (g *Guard) show(w http.ResponseWriter, r *http.Request, p Page) {
	if g.opts.Page == nil {
		refuse(w, p.Status, p.Wrong)
		return
	}
	tokens := *g.tokens.Load()
	p.Token = len(tokens) > 0
	for _, one := range tokens {
		p.AsksName = p.AsksName || one.Name == ""
	}
	p.Proxy = g.opts.Proxy != nil
	if g.oidc != nil {
		p.Provider = g.oidc.host()
	}
	g.opts.Page(w, r, p)
}

// isBrowser reports whether a browser, not a program, sent a request.
func isBrowser(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html") && r.Header.Get("Authorization") == ""
}

// notKnown responds to an unauthenticated request. A browser that requests a page is redirected to
// the sign-in page. All other requests get 401.
func (g *Guard) notKnown(w http.ResponseWriter, r *http.Request) {
	switch {
	case g.opts.Page == nil || !isBrowser(r):
		w.Header().Set("WWW-Authenticate", `Basic realm="hooklatch", charset="UTF-8"`)
		refuse(w, http.StatusUnauthorized, "send a token as a bearer token, or as the password of basic authentication")
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		g.leadToLogin(w, r)
	default:
		g.show(w, r, Page{Status: http.StatusUnauthorized, Next: "/", Wrong: "You are not signed in, or your session has ended. Nothing was changed."})
	}
}
