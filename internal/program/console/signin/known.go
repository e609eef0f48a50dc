package signin

import (
	"crypto/hmac"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
)

func (g *Guard) knownCookie() string { return g.cookieName() + "-known" }

// knownSince returns the cookie for a browser with which a user signed in at the given time. The
// cookie identifies no user and gives no access. Its only effect is that sign-ins of strangers do
// not hold up a sign-in with this browser.
func (p *relyingParty) knownSince(at time.Time) string {
	text := strconv.FormatInt(at.Unix(), 10)
	return text + "." + base64.RawURLEncoding.EncodeToString(macOf(p.keyOf("known browser"), text))
}

// noteBrowser makes a browser known.
func (g *Guard) noteBrowser(w http.ResponseWriter) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure if browsers use HTTPS
		Name: g.knownCookie(), Value: g.oidc.knownSince(g.opts.Now()), Path: "/", MaxAge: int(provedFor.Seconds()), Secure: g.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// knowsBrowser reports whether a user signed in with the request's browser less than provedFor ago.
func (g *Guard) knowsBrowser(r *http.Request) bool {
	cookie, err := r.Cookie(g.knownCookie())
	if err != nil {
		return false
	}
	text, _, _ := strings.Cut(cookie.Value, ".")
	seconds, err := strconv.ParseInt(text, 10, 64)
	at := time.Unix(seconds, 0)
	return err == nil && hmac.Equal([]byte(cookie.Value), []byte(g.oidc.knownSince(at))) && g.opts.Now().Sub(at) < provedFor
}
