package signin

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
)

// cookieBytes is the length of a random cookie. A cookie of this length cannot be guessed.
const cookieBytes = 32

// Browsers accept a cookie with the first of these names only over HTTPS, and only for the host
// that set the cookie.
const (
	secureCookie = "__Host-hooklatch"
	plainCookie  = "hooklatch"
)

// newCookie returns the value of a new cookie.
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

// cookieOf returns the cookie of a request, or "" if the request has none of the right length.
func (g *Guard) cookieOf(r *http.Request) string {
	cookie, err := r.Cookie(g.cookieName())
	if err != nil || len(cookie.Value) != base64.RawURLEncoding.EncodedLen(cookieBytes) {
		return ""
	}
	return cookie.Value
}

// setCookie sets the login cookie for the maximum duration of a login, or deletes it if value is
// empty. The cookie is valid for all paths of the host, as its name requires over HTTPS.
func (g *Guard) setCookie(w http.ResponseWriter, value string) {
	cookie := &http.Cookie{ //nolint:gosec // Secure if browsers use HTTPS
		Name: g.cookieName(), Value: value, Path: "/", MaxAge: int(longest.Seconds()),
		Secure: g.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode, // with Strict, a link in a chat would lead to the sign-in page
	}
	if value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}
