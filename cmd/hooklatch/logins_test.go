package main

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// An operator can sign a former user out in every browser, and the action is recorded.
func TestPeopleAreSignedOutByOthers(t *testing.T) {
	t.Parallel()
	const token = "the-token-of-ada-0123456789"
	s := newSystem(t, systemOptions{change: func(cfg *config.Config) {
		cfg.Admin.Tokens = []config.AdminToken{{Name: "ada", Role: "operator", Token: secret.New(token)}}
	}})
	require.Equal(t, "no users are signed in\n", must(t, s.args("logins", "list")...))
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	signIn := func() *http.Cookie {
		form := url.Values{"token": {token}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.admin+"/login", strings.NewReader(form.Encode()))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", s.admin)
		answer, err := client.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.NotEmpty(t, answer.Cookies(), answer.Status)
		return answer.Cookies()[0]
	}
	page := func(cookie *http.Cookie) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.admin+"/api/events", http.NoBody)
		require.NoError(t, err)
		r.AddCookie(cookie)
		answer, err := client.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode
	}
	one, other := signIn(), signIn()
	require.Equal(t, http.StatusOK, page(one))
	require.Regexp(t, `(?m)^ada +operator +token `, must(t, s.args("logins", "list")...))

	var c command
	require.Equal(t, exitFailed, c.run(t.Context(), s.args("logins", "end", "bob")...))
	require.Contains(t, c.stderr.String(), "bob is not signed in; list sign-ins with: ")
	require.Equal(t, "ada is signed out: 2 logins ended\n", must(t, s.args("logins", "end", "ada", "--as", "eve", "--reason", "she has left")...))
	require.Equal(t, http.StatusUnauthorized, page(one))
	require.Equal(t, http.StatusUnauthorized, page(other))
	require.Regexp(t, `eve.*logins\.end.*ada`, must(t, s.args("audit")...))
}
