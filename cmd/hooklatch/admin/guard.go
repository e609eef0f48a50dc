package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"strings"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/loopback"
	"github.com/hooklatch/hooklatch/outbox/logkey"
)

// secureHeaders makes every answer inert for browsers: no script, no frame, no
// sniffing, no copy in a cache.
func secureHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// guard lets only operators through.
func (a *Admin) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.opts.Token.IsZero() && !loopback.Called(r) {
			writeJSON(w, http.StatusMisdirectedRequest, problem{"call this address as localhost, or set admin.token"})
			return
		}
		switch a.judge(r) {
		case right:
			next.ServeHTTP(w, r)
		case throttled:
			w.Header().Set("Retry-After", "10")
			writeJSON(w, http.StatusTooManyRequests, problem{"too many wrong tokens from this address, try again later"})
		case wrong:
			w.Header().Set("WWW-Authenticate", `Basic realm="hooklatch", charset="UTF-8"`)
			writeJSON(w, http.StatusUnauthorized, problem{"unauthorized"})
		}
	})
}

// judge decides whether r may go on: it carries the token, or none is asked for.
// A request without a token is no guess, and costs its address nothing.
func (a *Admin) judge(r *http.Request) verdict {
	if a.opts.Token.IsZero() {
		return right
	}
	given := presented(r)
	if given == "" {
		return wrong
	}
	found := a.guesses.judge(r.RemoteAddr, func() bool { return a.isToken(given) })
	if found != right && a.authFailures.Allow() {
		a.opts.Logger.LogAttrs(r.Context(), slog.LevelWarn, "admin request refused",
			slog.String(logkey.Reason, "wrong_token"), slog.String(logkey.Remote, r.RemoteAddr))
	}
	return found
}

// isToken compares hashes, so that neither content nor length shows in the time
// it takes.
func (a *Admin) isToken(given string) bool {
	got, want := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(a.token.Load().Reveal()))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// presented is the token r carries: Authorization: Bearer, or the password of
// Authorization: Basic, which is what a browser can send.
func presented(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
