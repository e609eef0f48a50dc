package signin_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// tokens returns a token without a name, two tokens with names, and a named token without a value.
func tokens() []signin.Token {
	return []signin.Token{
		{Role: signin.Admin, Secret: secret.New("canary-of-all")},
		{Name: "grafana", Role: signin.Viewer, Secret: secret.New("canary-grafana")},
		{Name: "deploy", Role: signin.Operator, Secret: secret.New("canary-deploy")},
		{Name: "nobody", Role: signin.Admin}, // a token without a value has no bearer
	}
}

func newGuard(t testing.TB, opts signin.Options) *signin.Guard {
	t.Helper()
	g, err := signin.New(opts)
	require.NoError(t, err)
	return g
}

// asks sends a request to a guard, and returns the authenticated caller, if any, and the response.
func asks(g *signin.Guard, change ...func(r *http.Request)) (who signin.Person, answer *httptest.ResponseRecorder) {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	for _, f := range change {
		f(r)
	}
	answer = httptest.NewRecorder()
	g.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { who = signin.PersonOf(r.Context()) })).ServeHTTP(answer, r)
	return who, answer
}

func basic(user, password string) func(*http.Request) {
	return func(r *http.Request) { r.SetBasicAuth(user, password) }
}

func bearer(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

// The bearer of a named token can choose neither name nor role.
func TestATokenSaysWhoItIs(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	g := newGuard(t, signin.Options{Tokens: tokens(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for _, c := range []struct {
		as         func(*http.Request)
		name, role string
	}{
		{bearer("canary-of-all"), signin.Nameless, "admin"},
		{basic("ada", "canary-of-all"), "ada", "admin"},
		{basic("Grafana", "canary-of-all"), signin.Nameless, "admin"}, // the record would name another user
		{basic("a\x00da", "canary-of-all"), signin.Nameless, "admin"},
		{bearer("canary-grafana"), "grafana", "viewer"},
		{basic("ada", "canary-grafana"), "grafana", "viewer"},
		{basic("", "canary-deploy"), "deploy", "operator"},
	} {
		who, answer := asks(g, c.as)
		require.Equal(t, signin.Person{Name: c.name, Role: signin.Role(c.role), Way: signin.WayToken}, who)
		require.Equal(t, http.StatusOK, answer.Code)
	}
	for _, as := range []func(*http.Request){basic("nobody", ""), bearer(""), bearer("canary"), bearer("canary-grafana x"), basic("canary-deploy", "")} {
		who, answer := asks(g, as)
		require.Zero(t, who)
		require.Equal(t, http.StatusUnauthorized, answer.Code)
	}
	require.NotContains(t, log.String(), "canary")
}

// A reload replaces the tokens of a guard. It turns authentication neither on nor off.
func TestTokensChange(t *testing.T) {
	t.Parallel()
	g := newGuard(t, signin.Options{Tokens: tokens()})
	g.SetSecrets(signin.Secrets{Tokens: []signin.Token{{Name: "grafana", Role: signin.Operator, Secret: secret.New("canary-next")}}})
	who, _ := asks(g, bearer("canary-next"))
	require.Equal(t, signin.Operator, who.Role)
	for _, former := range []string{"canary-of-all", "canary-grafana"} {
		_, answer := asks(g, bearer(former))
		require.Equal(t, http.StatusUnauthorized, answer.Code)
	}
	g.SetSecrets(signin.Secrets{})
	_, answer := asks(g)
	require.Equal(t, http.StatusUnauthorized, answer.Code, "a reload cannot turn authentication off")

	open := newGuard(t, signin.Options{})
	here := func(r *http.Request) { r.Host = "localhost" }
	open.SetSecrets(signin.Secrets{Tokens: tokens()})
	who, _ = asks(open, here)
	require.Equal(t, signin.Person{Name: signin.Nameless, Role: signin.Admin, Way: signin.WayLoopback}, who)
	_, answer = asks(open)
	require.Equal(t, http.StatusMisdirectedRequest, answer.Code)
}
