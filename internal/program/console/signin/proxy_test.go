package signin_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
)

func proxied(trusted ...string) signin.Options {
	opts := signin.Options{
		Tokens: tokens(),
		Proxy:  &signin.Proxy{User: "X-Forwarded-User", Groups: "X-Forwarded-Groups"},
		Roles: signin.Conditions{
			signin.Viewer: `email.endsWith("@example.com")`, signin.Operator: `"oncall" in groups`, signin.Admin: `claims["groups"].exists(g, g == "platform") && user != "eve"`,
		},
	}
	for _, network := range trusted {
		opts.Proxy.Trusted = append(opts.Proxy.Trusted, netip.MustParsePrefix(network))
	}
	return opts
}

func TestAProxySaysWhoAsks(t *testing.T) {
	t.Parallel()
	g := newGuard(t, proxied("192.0.2.0/24"))
	for _, c := range []struct {
		header http.Header
		role   signin.Role
		status int
	}{
		{http.Header{"X-Forwarded-User": {"ada"}, "X-Forwarded-Groups": {"cooks, oncall"}}, signin.Operator, http.StatusOK},
		{http.Header{"X-Forwarded-User": {"ada"}, "X-Forwarded-Groups": {" oncall ,platform,"}}, signin.Admin, http.StatusOK},
		{http.Header{"X-Forwarded-User": {"eve"}, "X-Forwarded-Groups": {"oncall,platform"}}, signin.Operator, http.StatusOK},
		{http.Header{"X-Forwarded-User": {"ada@example.com"}}, signin.Viewer, http.StatusOK},
		{http.Header{"X-Forwarded-User": {"ada@elsewhere.example"}}, "", http.StatusForbidden},
		{http.Header{"X-Forwarded-User": {"ada"}, "X-Forwarded-Groups": {"oncalls,on call,[oncall]"}}, "", http.StatusForbidden},
		{http.Header{"X-Forwarded-User": {""}, "X-Forwarded-Groups": {"platform"}}, "", http.StatusUnauthorized},
		{http.Header{"X-Forwarded-Groups": {"platform"}}, "", http.StatusUnauthorized},
		// A client's header is present in addition to the proxy's header.
		{http.Header{"X-Forwarded-User": {"ada", "eve"}, "X-Forwarded-Groups": {"platform"}}, "", http.StatusUnauthorized},
		{http.Header{"X-Forwarded-User": {"eve"}, "X-Forwarded-Groups": {"cooks", "platform"}}, "", http.StatusUnauthorized},
	} {
		who, answer := asks(g, func(r *http.Request) { r.Header = c.header })
		require.Equal(t, c.status, answer.Code, c.header)
		require.Equal(t, c.role, who.Role, c.header)
		if c.role != "" {
			require.Equal(t, signin.Person{Name: c.header.Get("X-Forwarded-User"), Role: c.role, Way: signin.WayProxy}, who)
		}
	}
	who, _ := asks(g, bearer("canary-grafana"))
	require.Equal(t, "grafana", who.Name, "machines authenticate with tokens")
}

// Headers from untrusted addresses are ignored. The test uses real connections from different
// addresses of this machine.
func TestHeadersOfOthersAreIgnored(t *testing.T) {
	t.Parallel()
	g := newGuard(t, proxied("127.0.0.2/32", "10.0.0.0/8"))
	server := httptest.NewServer(g.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, signin.PersonOf(r.Context()).Name)
	})))
	t.Cleanup(server.Close)
	for from, want := range map[string]int{"127.0.0.2": http.StatusOK, "127.0.0.1": http.StatusUnauthorized, "127.0.0.3": http.StatusUnauthorized} {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		client := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		require.NoError(t, err)
		r.Header.Set("X-Forwarded-User", "ada")
		r.Header.Set("X-Forwarded-Groups", "platform")
		r.Header.Set("X-Forwarded-For", "10.0.0.1")
		answer, err := client.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, want, answer.StatusCode, from)
	}
}
