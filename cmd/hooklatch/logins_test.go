package main_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// An operator can sign a former user out in every browser, and the action is recorded.
func TestPeopleAreSignedOutByOthers(t *testing.T) {
	t.Parallel()
	const token = "the-token-of-ada-0123456789"
	s := clitest.NewSystem(t, clitest.SystemOptions{Change: func(cfg *config.Config) {
		cfg.Admin.Tokens = []config.AdminToken{{Name: "ada", Role: "operator", Token: secret.New(token)}}
	}})
	require.Equal(t, "no users are signed in\n", clitest.Must(t, s.Args("logins", "list")...))
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	signIn := func() *http.Cookie {
		form := url.Values{"token": {token}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Admin+"/login", strings.NewReader(form.Encode()))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", s.Admin)
		answer, err := client.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.NotEmpty(t, answer.Cookies(), answer.Status)
		return answer.Cookies()[0]
	}
	page := func(cookie *http.Cookie) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Admin+"/api/events", http.NoBody)
		require.NoError(t, err)
		r.AddCookie(cookie)
		answer, err := client.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode
	}
	one, other := signIn(), signIn()
	require.Equal(t, http.StatusOK, page(one))
	require.Regexp(t, `(?m)^ada +operator +token `, clitest.Must(t, s.Args("logins", "list")...))

	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("logins", "end", "bob")...))
	require.Contains(t, c.Stderr.String(), "bob is not signed in; list sign-ins with: ")
	require.Equal(t, "ada is signed out: 2 logins ended\n", clitest.Must(t, s.Args("logins", "end", "ada", "--as", "eve", "--reason", "she has left")...))
	require.Equal(t, http.StatusUnauthorized, page(one))
	require.Equal(t, http.StatusUnauthorized, page(other))
	require.Regexp(t, `eve.*logins\.end.*ada`, clitest.Must(t, s.Args("audit")...))
}
