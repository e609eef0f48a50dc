package admin_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/admin"
)

func paths() []string {
	return []string{"/", "/events", "/api/events", "/metrics", "/healthz", "/readyz", "/nothing", "/api/"}
}

func TestHeadersOfEveryAnswer(t *testing.T) {
	t.Parallel()
	a := newAdmin(t, withToken)
	for _, path := range paths() {
		header := get(t, a, path).Header()
		require.Contains(t, header.Get("Content-Security-Policy"), "default-src 'none'", path)
		require.Contains(t, header.Get("Content-Security-Policy"), "frame-ancestors 'none'", path)
		require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"), path)
		require.Equal(t, "no-store", header.Get("Cache-Control"), path)
	}
}

func TestTokenIsAskedEverywhereButAtTheProbes(t *testing.T) {
	t.Parallel()
	a := newAdmin(t, withToken)
	bearer := func(value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", value) }
	}
	basic := func(user, password string) func(*http.Request) {
		return func(r *http.Request) { r.SetBasicAuth(user, password) }
	}
	nobody := []func(*http.Request){
		func(*http.Request) {}, bearer("Bearer wrong"), bearer("Bearer "), bearer(token), bearer("Bearer " + token + "x"),
		basic(token, ""), basic("", "wrong"), func(r *http.Request) { r.URL.RawQuery = "token=" + token },
	}
	operator := []func(*http.Request){bearer("Bearer " + token), bearer("bearer  " + token), basic("", token), basic("anyone", token)}
	for n, path := range paths() {
		public := path == "/healthz" || path == "/readyz"
		stranger := func(r *http.Request) { r.RemoteAddr = fmt.Sprintf("203.0.113.%d:1", n) } // a separate address for each path, because guesses are throttled
		for i, as := range nobody {
			got := get(t, a, path, as, stranger)
			if public {
				require.Equal(t, http.StatusOK, got.Code, "%s %d", path, i)
				continue
			}
			require.Equal(t, http.StatusUnauthorized, got.Code, "%s %d", path, i)
			require.Contains(t, got.Header().Get("WWW-Authenticate"), "Basic")
			require.JSONEq(t, `{"title":"Unauthorized","status":401,"detail":"send a token as a bearer token, or as the password of basic authentication"}`, got.Body.String())
			require.Equal(t, "application/problem+json", got.Header().Get("Content-Type"))
		}
		for _, as := range operator {
			got := get(t, a, path, as)
			require.NotEqual(t, http.StatusUnauthorized, got.Code, path)
			require.NotContains(t, got.Body.String(), token)
		}
	}
	anyHost := func(r *http.Request) { r.Host = "admin.example.com" }
	require.Equal(t, http.StatusOK, get(t, a, "/", operator[0], anyHost).Code)
}

// A client that guesses is throttled after ten tries, and may then try once per second. Clients at
// other addresses are not affected.
func TestGuessesOfTheTokenAreThrottled(t *testing.T) {
	t.Parallel()
	now := time.Now()
	a := newAdmin(t, func(o *admin.Options) {
		o.SignIn = guardAt(func() time.Time { return now })
	})
	as := func(remote, given string) int {
		return get(t, a, "/api/events", func(r *http.Request) {
			r.RemoteAddr = remote
			if given != "" {
				r.Header.Set("Authorization", "Bearer "+given)
			}
		}).Code
	}
	const guesser, operator = "203.0.113.1:1", "203.0.113.2:1"
	for range 10 {
		require.Equal(t, http.StatusUnauthorized, as(guesser, "guess"))
	}
	for range 300 {
		require.Equal(t, http.StatusTooManyRequests, as(guesser, "guess"))
	}
	require.Equal(t, http.StatusOK, as(guesser, token), "behind a proxy all clients have the stranger's address")
	require.Equal(t, http.StatusUnauthorized, as(guesser, ""), "a missing token does not count as a guess")
	require.Equal(t, http.StatusOK, as(operator, token))
	now = now.Add(time.Second)
	require.Equal(t, http.StatusUnauthorized, as(guesser, "guess"))
	require.Equal(t, http.StatusTooManyRequests, as(guesser, "guess"))

	for n := range 10 { // a subscriber's /64 counts as one address
		require.Equal(t, http.StatusUnauthorized, as(fmt.Sprintf("[2001:db8::%x]:1", n+1), "guess"))
	}
	require.Equal(t, http.StatusTooManyRequests, as("[2001:db8::ffff]:1", "guess"))
	for n := range 10_000 { // even with many guesses, the right token from another address is accepted
		as(fmt.Sprintf("10.%d.%d.1:1", n/256, n%256), "guess")
	}
	require.Equal(t, http.StatusOK, as(operator, token))
}

func TestOtherHostNamesAreRefusedWithoutToken(t *testing.T) {
	t.Parallel()
	a := newAdmin(t, nil)
	for host, status := range map[string]int{
		"localhost:8081": 200, "127.0.0.1": 200, "[::1]:8081": 200, "[::1]": 200,
		"rebound.example:8081": 421, "10.0.0.1:8081": 421, "": 421, "localhost.evil.example": 421,
	} {
		as := func(r *http.Request) { r.Host = host }
		require.Equal(t, status, get(t, a, "/", as).Code, host)
		require.Equal(t, status, get(t, a, "/api/events", as).Code, host)
		require.Equal(t, http.StatusOK, get(t, a, "/healthz", as).Code, host)
	}
}

// A change must come from a console page, or carry a bearer token.
func TestOnlyOwnPagesOrder(t *testing.T) {
	t.Parallel()
	a := newAdmin(t, func(o *admin.Options) {
		withToken(o)
		o.ConsoleURL = "https://ops.example.com/hooklatch"
	})
	const bearer, basic = "bearer", "basic"
	for _, c := range []struct {
		site, origin, host, as string
		allowed                bool
	}{
		{site: "same-origin", as: basic, allowed: true},
		{site: "same-origin", as: bearer, allowed: true},
		{site: "none", as: basic, allowed: true}, // the user typed the URL
		{site: "cross-site", as: basic},
		{site: "cross-site", as: bearer},
		{site: "same-site", as: basic},
		{origin: "http://127.0.0.1:8081", as: basic, allowed: true},
		{origin: "http://evil.example", as: basic},
		{origin: "null", as: basic},
		{origin: "https://ops.example.com", as: basic, allowed: true}, // a proxy may set any Host
		{origin: "https://ops.example.com", host: "127.0.0.1:9999", as: basic, allowed: true},
		{site: "cross-site", origin: "https://ops.example.com", as: basic, allowed: true},
		{origin: "http://ops.example.com", as: basic},
		{as: basic}, // not a browser
		{as: bearer, allowed: true},
	} {
		got := get(t, a, "/effects/hl_1/retry", func(r *http.Request) {
			r.Method = http.MethodPost
			for name, value := range map[string]string{"Sec-Fetch-Site": c.site, "Origin": c.origin} {
				if value != "" {
					r.Header.Set(name, value)
				}
			}
			if c.host != "" {
				r.Host = c.host
			}
			if r.SetBasicAuth("ada", token); c.as == bearer {
				r.Header.Set("Authorization", "Bearer "+token)
			}
		})
		if c.allowed {
			require.Equal(t, http.StatusOK, got.Code, "%+v", c)
		} else {
			require.Equal(t, http.StatusForbidden, got.Code, "%+v", c)
		}
		require.Equal(t, http.StatusOK, get(t, a, "/effects", func(r *http.Request) {
			r.SetBasicAuth("ada", token)
			r.Header.Set("Sec-Fetch-Site", c.site)
		}).Code, "reading is for every link")
	}
}
