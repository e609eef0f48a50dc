package app_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// wildcards returns values for the wildcards in patterns. Add each new wildcard of a route here.
func wildcards() map[string]string {
	return map[string]string{
		"{source}": "stripe", "{id}": "evt_0", "{any}": "x", "{key}": "hl_0", "{action}": "retry", "{name}": "app", "{hash}": "0", "{file...}": "x.css", "{$}": "",
	}
}

// Every role requests every path of the listener with every method. Requests without the required
// role get 403, and unauthenticated requests get 401.
func TestWhoMayAskForWhat(t *testing.T) {
	t.Parallel()
	f := newFile(t, pgtest.URL(t, pgtest.New(t)))
	require.NoError(t, os.WriteFile(f.path, []byte(`
database: {url: "`+f.database+`", allow: [fsync_off]}
gateway: {listen: "127.0.0.1:0"}
admin:
  listen: "127.0.0.1:0"
  tokens: [{name: m, role: metrics, token: token-of-the-metrics}, {name: a, role: viewer, token: token-of-the-viewer}, {name: b, role: operator, token: token-of-the-operator}, {name: c, role: admin, token: token-of-the-admin}]
  console_url: http://localhost
  auth: {oidc: {issuer: "http://127.0.0.1:1", client_id: hooklatch, client_secret: the-secret}, roles: {viewer: "true"}}
sources: {stripe: {provider: stripe, secrets: the-first-secret}}
`), 0o600))
	cfg, err := f.load()
	require.NoError(t, err)
	a, err := app.New(t.Context(), app.Options{Config: cfg, Gateway: true, Worker: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.StopPatiently(context.Background())) })
	require.NoError(t, a.Start(t.Context()))
	<-a.Prepared()

	routes := a.Routes()
	require.Greater(t, len(routes), 25)
	roleFor := rolesOf(t, routes)
	var open []string
	for _, route := range routes {
		method, path, found := strings.Cut(route.Pattern, " ")
		require.True(t, found, "%s: the route has no method", route.Pattern)
		for part, value := range wildcards() {
			path = strings.ReplaceAll(path, part, value)
		}
		require.NotRegexp(t, `[{}]`, path, "give the wildcard a value")
		if route.Open {
			require.Empty(t, route.Role)
			open = append(open, route.Pattern)
			continue
		}
		require.Contains(t, signin.Roles(), route.Role, "%s: the route has no known role", route.Pattern)
		for _, method := range slices.Compact([]string{method, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}) {
			require.Equal(t, http.StatusUnauthorized, ask(t, a, method, path, ""), "%s %s", method, path)
			needed := roleFor(method, path)
			for _, role := range signin.Roles() {
				status := ask(t, a, method, path, "token-of-the-"+string(role))
				require.NotEqual(t, http.StatusUnauthorized, status)
				switch {
				case needed == "":
					require.Contains(t, []int{http.StatusNotFound, http.StatusMethodNotAllowed}, status, "%s %s", method, path)
				case role.May(needed):
					require.NotEqual(t, http.StatusForbidden, status, "%s: %s %s", role, method, path)
				case method == http.MethodHead && status == http.StatusMethodNotAllowed: // only GET shows the form of an operator action, so HEAD gets 405
				default:
					require.Equal(t, http.StatusForbidden, status, "%s: %s %s", role, method, path)
				}
			}
		}
	}
	require.ElementsMatch(t, []string{
		"GET /healthz", "GET /readyz", "GET /static/{hash}/{file...}", "GET /login", "POST /login", "POST /logout", "POST /logout-everywhere",
		"GET /auth/oidc", "GET /auth/callback",
	}, open, "what is for everybody")
}

// rolesOf returns a function that returns the role that a request requires according to the list of
// routes, or "" if no route matches.
func rolesOf(t *testing.T, routes []signin.Route) func(method, path string) signin.Role {
	t.Helper()
	mux := http.NewServeMux()
	roles := map[string]signin.Role{}
	for _, route := range routes {
		mux.Handle(route.Pattern, http.NotFoundHandler())
		roles[route.Pattern] = route.Role
	}
	return func(method, path string) signin.Role {
		r, err := http.NewRequestWithContext(t.Context(), method, path, http.NoBody)
		require.NoError(t, err)
		_, pattern := mux.Handler(r)
		return roles[pattern]
	}
}

func ask(t *testing.T, a *app.App, method, path, token string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+a.AdminAddr().String()+path, http.NoBody)
	require.NoError(t, err)
	r.Header.Set("Origin", "http://"+a.AdminAddr().String())
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	var answer *http.Response
	require.Eventually(t, func() bool { // the listener does not wait long for a request that a busy machine delays
		answer, err = (&http.Transport{DisableKeepAlives: true}).RoundTrip(r) //nolint:bodyclose // closed below
		return err == nil
	}, patience, 20*time.Millisecond, "%s %s", method, path)
	_, err = io.Copy(io.Discard, answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode
}
