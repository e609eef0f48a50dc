package signin

import (
	"net/http"
	"strings"
)

// Page is what whoever is not known is shown.
type Page struct {
	Status int
	// Next is where to go afterwards, below the path of the console.
	Next string
	// Wrong is why it did not work. Empty: nothing has been tried.
	Wrong string
	// Token says that a token can be given, and AsksName that a name may be given with it.
	Token, AsksName bool
	Name            string // that was given
	// Provider is where people can sign in. Empty: nowhere else.
	Provider string
	// Proxy says that people are known by the proxy they come through.
	Proxy bool
}

// show renders a page, or what programs are told where there are none.
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

// isBrowser reports whether a person's browser asks, and not a program.
func isBrowser(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html") && r.Header.Get("Authorization") == ""
}

// notKnown answers a request of whoever is not signed in: browsers are led to the page
// for that, and programs are told.
func (g *Guard) notKnown(w http.ResponseWriter, r *http.Request) {
	switch {
	case g.opts.Page == nil || !isBrowser(r):
		w.Header().Set("WWW-Authenticate", `Basic realm="hooklatch", charset="UTF-8"`)
		refuse(w, http.StatusUnauthorized, "send a token as a bearer, or as the password of basic authentication")
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		g.leadToLogin(w, r)
	default:
		g.show(w, r, Page{Status: http.StatusUnauthorized, Next: "/", Wrong: "You are not signed in, or your session has ended. Nothing was changed."})
	}
}
