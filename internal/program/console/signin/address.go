package signin

import (
	"net/http"
	"net/url"
	"strings"
)

// Local returns a console path, with its query, from an untrusted value. If the value leads
// anywhere else, Local returns the first page's path.
func Local(given string) string {
	const most, first = 2 << 10, "/"
	if len(given) > most || !strings.HasPrefix(given, "/") || strings.HasPrefix(given, "//") ||
		strings.ContainsFunc(given, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }) {
		return first
	}
	u, err := url.Parse(given)
	if err != nil || u.IsAbs() || u.Host != "" || strings.HasPrefix(u.Path, "//") || strings.Contains(u.Path, `\`) {
		return first
	}
	return u.RequestURI()
}

// AtBase returns a handler that strips the console's base path from requests, if a proxy kept the
// path, and calls next.
func AtBase(base string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rest, below := strings.CutPrefix(r.URL.EscapedPath(), base+"/"); below && base != "" {
			stripped, at := *r, *r.URL
			at.RawPath = "/" + rest
			at.Path, _ = url.PathUnescape(at.RawPath) // EscapedPath is valid
			stripped.URL, r = &at, &stripped
		}
		next.ServeHTTP(w, r)
	})
}

// BaseOf returns the path of the console URL, without a trailing slash.
func BaseOf(consoleURL *url.URL) string { return strings.TrimSuffix(consoleURL.EscapedPath(), "/") }
