package signin

import (
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/hooklatch/hooklatch/internal/logkey"
)

// maxForm is the maximum size of a form in bytes.
const maxForm = 8 << 10

// own returns the handlers of the paths that a guard itself serves, by pattern.
func (g *Guard) own() map[string]http.HandlerFunc {
	own := map[string]http.HandlerFunc{
		"GET /login":              g.login,
		"POST /login":             g.takeToken,
		"POST /logout":            g.logout,
		"POST /logout-everywhere": g.logoutEverywhere,
	}
	if g.oidc != nil {
		own["GET /auth/oidc"] = g.startOIDC
		own["GET /auth/callback"] = g.endOIDC
	}
	return own
}

// Routes returns the routes that a guard itself serves. None of them requires authentication.
func (g *Guard) Routes() []Route {
	var list []Route
	for _, pattern := range slices.Sorted(maps.Keys(g.own())) {
		list = append(list, Route{Pattern: pattern, Open: true})
	}
	return list
}

// leadToLogin redirects a browser to the sign-in page, which leads back to the requested page.
func (g *Guard) leadToLogin(w http.ResponseWriter, r *http.Request) {
	to := "/login"
	if next := Local(r.URL.RequestURI()); next != "/" {
		to += "?" + url.Values{"next": {next}}.Encode()
	}
	g.seeOther(w, r, to)
}

// seeOther redirects to a path of the console.
func (g *Guard) seeOther(w http.ResponseWriter, r *http.Request, path string) {
	http.Redirect(w, r, g.base+path, http.StatusSeeOther)
}

// login shows the sign-in page.
func (g *Guard) login(w http.ResponseWriter, r *http.Request) {
	if !g.asks || g.logins == nil {
		g.seeOther(w, r, "/")
		return
	}
	g.show(w, r, Page{Status: http.StatusOK, Next: Local(r.URL.Query().Get("next"))})
}

// takeToken exchanges a token for a cookie.
func (g *Guard) takeToken(w http.ResponseWriter, r *http.Request) {
	if !g.asks || g.logins == nil {
		g.seeOther(w, r, "/")
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		g.show(w, r, Page{Status: http.StatusBadRequest, Next: "/", Wrong: "This form cannot be read. Send it again."})
		return
	}
	asked := Page{Next: Local(r.PostForm.Get("next")), Name: r.PostForm.Get("name")}
	given := r.PostForm.Get("token")
	if given == "" {
		asked.Status, asked.Wrong = http.StatusUnprocessableEntity, "Enter a token."
		g.show(w, r, asked)
		return
	}
	token, found := g.try(r, given)
	switch found {
	case wrong:
		asked.Status, asked.Wrong = http.StatusUnauthorized, "Unknown token."
		g.show(w, r, asked)
	case throttled:
		w.Header().Set("Retry-After", "10")
		asked.Status, asked.Wrong = http.StatusTooManyRequests, "Too many wrong tokens from this address. Try again later."
		g.show(w, r, asked)
	case right:
		g.begin(w, r, g.tokens.Load().bearer(token, asked.Name), token.Name, token.Secret.Reveal(), asked.Next)
	}
}

// begin stores a login and sets its cookie, ends the former cookie's login, and redirects.
func (g *Guard) begin(w http.ResponseWriter, r *http.Request, p Person, token, reliesOn, next string) {
	cookie := newCookie()
	if err := g.logins.begin(r.Context(), cookie, p, token, reliesOn); err != nil {
		g.away(w, r, err)
		return
	}
	if former := g.cookieOf(r); former != "" {
		_ = g.logins.end(r.Context(), former) // the login would expire anyway
	}
	g.setCookie(w, cookie)
	g.opts.Logger.LogAttrs(r.Context(), slog.LevelInfo, "signed in at the console", slog.String(logkey.Person, p.Name),
		slog.String(logkey.Role, string(p.Role)), slog.String(logkey.Way, string(p.Way)), slog.String(logkey.Remote, r.RemoteAddr))
	g.seeOther(w, r, next)
}

// logout ends this browser's login.
func (g *Guard) logout(w http.ResponseWriter, r *http.Request) {
	g.endLogin(w, r, func(cookie string) error { return g.logins.end(r.Context(), cookie) })
}

// logoutEverywhere ends all logins of the signed-in user that were made in the same way and with
// the same token.
func (g *Guard) logoutEverywhere(w http.ResponseWriter, r *http.Request) {
	g.endLogin(w, r, func(cookie string) error {
		of, found, err := g.recall(r, cookie)
		if err != nil || !found {
			return err
		}
		return g.logins.endAll(r.Context(), of)
	})
}

func (g *Guard) endLogin(w http.ResponseWriter, r *http.Request, end func(cookie string) error) {
	if cookie := g.cookieOf(r); g.logins != nil && cookie != "" {
		if err := end(cookie); err != nil {
			g.away(w, r, err) // the cookie stays, because its login may still be valid
			return
		}
		g.setCookie(w, "")
	}
	g.seeOther(w, r, "/login")
}

// away responds that the database is unavailable.
func (g *Guard) away(w http.ResponseWriter, r *http.Request, err error) {
	g.opts.Logger.LogAttrs(r.Context(), slog.LevelWarn, "sign-in could not be checked", slog.Any(logkey.Err, err))
	if r.Context().Err() == nil && isBrowser(r) {
		g.show(w, r, Page{Status: http.StatusServiceUnavailable, Next: "/", Wrong: "The database does not answer, and only the database knows who is signed in. " +
			"Meanwhile gateways answer 503, and senders retry: nothing is lost. Programs can still authenticate with a token."})
		return
	}
	refuse(w, http.StatusServiceUnavailable, "the database does not answer, and only the database knows who is signed in; send a token")
}
