package signin

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
)

// cookieBytes are those of a cookie: nobody guesses it.
const cookieBytes = 32

// The names of the cookie. The first is taken by browsers on HTTPS only, for the host that
// set it and no other.
const (
	secureCookie = "__Host-hooklatch"
	plainCookie  = "hooklatch"
)

// newCookie is the value of a new one.
func newCookie() string {
	random := make([]byte, cookieBytes)
	_, _ = rand.Read(random) // never fails
	return base64.RawURLEncoding.EncodeToString(random)
}

func (g *Guard) cookieName() string {
	if g.secure {
		return secureCookie
	}
	return plainCookie
}

// cookieOf is that of a request. Empty: it has none that could be ours.
func (g *Guard) cookieOf(r *http.Request) string {
	cookie, err := r.Cookie(g.cookieName())
	if err != nil || len(cookie.Value) != base64.RawURLEncoding.EncodedLen(cookieBytes) {
		return ""
	}
	return cookie.Value
}

// setCookie gives a browser a cookie for as long as its login can last, or takes it away.
// It is for all paths of the host, as its name on HTTPS demands.
func (g *Guard) setCookie(w http.ResponseWriter, value string) {
	cookie := &http.Cookie{ //nolint:gosec // Secure wherever browsers come over HTTPS
		Name: g.cookieName(), Value: value, Path: "/", MaxAge: int(longest.Seconds()),
		Secure: g.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode, // a link in a chat must open
	}
	if value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}
