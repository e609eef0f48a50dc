package admin

import (
	"net/http"
	"net/url"

	"github.com/hooklatch/hooklatch/internal/program/console/api"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
)

// pagePolicy lets a page use only the console's own scripts and styles. The browser refuses inline
// scripts, scripts from other origins, and strings that a script would run as code, so untrusted
// text in a page stays text.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types hooklatch"

// secureHeaders returns a handler whose responses forbid foreign scripts, frames, content sniffing
// and caching. Browsers still send the referrer within the origin: otherwise, the origin of a form
// over plain HTTP would be null.
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

// boundedBodies returns a handler that limits every request body. The next handler may have a lower
// limit.
func boundedBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, api.MaxOrder)
		next.ServeHTTP(w, r)
	})
}

// originsOf returns a cross-origin protection that trusts the listener's own origin and, if
// consoleURL is not empty, the origin of consoleURL.
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

// sameOrigin returns a handler that refuses changes that another web site makes a browser send.
// Reads (GET, HEAD and OPTIONS) are always allowed. A change without the headers Origin and
// Sec-Fetch-Site does not come from a current browser. Such a change must carry the token as a
// bearer token, which no site can make a browser send.
func (a *Admin) sameOrigin(next http.Handler) http.Handler {
	return a.origins.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
		if !reads && r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" && !signin.IsBearer(r) {
			refuse(w, "send the header Origin, or send the token as a bearer token")
			return
		}
		next.ServeHTTP(w, r)
	}))
}

// refuse answers 403 with the reason.
func refuse(w http.ResponseWriter, text string) {
	_ = api.WriteProblem(w, api.Problem{Title: http.StatusText(http.StatusForbidden), Status: http.StatusForbidden, Detail: text}) // texts always encode
}
