package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/console/signin"
	"github.com/hooklatch/hooklatch/cmd/hooklatch/loopback"
	"github.com/hooklatch/hooklatch/outbox/logkey"
	"github.com/hooklatch/hooklatch/outbox/safetext"
)

// pagePolicy lets a page have scripts and styles of our own and nothing else: none within
// the page, none from elsewhere, and no text that becomes a script. What a stranger wrote
// into a page stays text.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types hooklatch"

// secureHeaders tells browsers what no answer is for: no foreign script, no frame, no
// sniffing, no copy in a cache. The referrer stays: without it the origin of a form over
// plain HTTP would be null.
func secureHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", pagePolicy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// originsOf trusts the origin of a URL besides that of the listener.
func originsOf(consoleURL string) (*http.CrossOriginProtection, error) {
	origins := http.NewCrossOriginProtection()
	if consoleURL == "" {
		return origins, nil
	}
	u, err := url.Parse(consoleURL)
	if err != nil {
		return nil, err
	}
	err = origins.AddTrustedOrigin(u.Scheme + "://" + u.Host)
	return origins, err
}

// sameOrigin refuses what another web site has a browser send. Whoever says nothing of
// where a change comes from is no browser of today: it has to carry the token as a
// bearer, which no site can make a browser do.
func (a *Admin) sameOrigin(next http.Handler) http.Handler {
	return a.origins.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
		if !reads && r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" && !isBearer(r) {
			writeJSON(w, http.StatusForbidden, problem{"say where this comes from with the header Origin, or send the token as a bearer"})
			return
		}
		next.ServeHTTP(w, r)
	}))
}

func isBearer(r *http.Request) bool {
	scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer")
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
			next.ServeHTTP(w, r.WithContext(signin.WithPerson(r.Context(), a.person(r))))
		case throttled:
			w.Header().Set("Retry-After", "10")
			writeJSON(w, http.StatusTooManyRequests, problem{"too many wrong tokens from this address, try again later"})
		case wrong:
			w.Header().Set("WWW-Authenticate", `Basic realm="hooklatch", charset="UTF-8"`)
			writeJSON(w, http.StatusUnauthorized, problem{"unauthorized"})
		}
	})
}

// person is who asks, by the user name of basic authentication, which is not checked, or
// else without a name. Whoever has the token may everything.
func (a *Admin) person(r *http.Request) signin.Person {
	p := signin.Person{Name: signin.Nameless, Role: signin.Admin, Way: "token"}
	if a.opts.Token.IsZero() {
		p.Way = "loopback"
	}
	if user, _, ok := r.BasicAuth(); ok && strings.TrimSpace(user) != "" && len(user) <= 255 && safetext.Storable(user) == user {
		p.Name = user
	}
	return p
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
	if !isBearer(r) {
		return ""
	}
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token)
}
