package clitest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
)

// Ask sends a request with the admin token.
func (s *System) Ask(t *testing.T, method, path, body string) (status int, contentType, text string) {
	t.Helper()
	return s.AskWith(t, s.Config.Admin.Token.Reveal(), method, path, body)
}

// AskWith is like Ask, with the given token.
func (s *System) AskWith(t *testing.T, token, method, path, body string) (status int, contentType, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.Admin+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Close = true
	r.SetBasicAuth("ada", token)
	r.Header.Set("Origin", s.Admin)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	return response.StatusCode, response.Header.Get("Content-Type"), GetBody(t, response.Body)
}

// SignIn sends the console's sign-in form with a token. It returns the body, the Location and the
// Set-Cookie header of the response in one text.
func (s *System) SignIn(t *testing.T, token string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Admin+"/login", strings.NewReader(url.Values{"token": {token}}.Encode()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", s.Admin)
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	require.NoError(t, err)
	require.NotEqual(t, http.StatusForbidden, response.StatusCode)
	return GetBody(t, response.Body) + response.Header.Get("Location") + response.Header.Get("Set-Cookie")
}

// Get fetches a URL. The caller closes the body.
func Get(t *testing.T, url string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	r.Close = true
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	return response
}

// Ready returns the status and the body of /readyz.
func (s *System) Ready(t *testing.T) (int, string) {
	t.Helper()
	response := Get(t, s.Admin+"/readyz")
	return response.StatusCode, GetBody(t, response.Body)
}

// SendJSON delivers one event and returns the exit code and report.
func (s *System) SendJSON(t *testing.T, args ...string) (int, cli.Report) {
	t.Helper()
	var c Command
	code := c.Run(t.Context(), s.Args(append([]string{"send"}, append(args, "--json")...)...)...)
	var r cli.Report
	require.NoError(t, json.Unmarshal([]byte(c.Stdout.String()), &r), c.Stderr.String())
	return code, r
}

// GetBody returns the body of a response as text, and closes it.
func GetBody(t *testing.T, r io.ReadCloser) string {
	t.Helper()
	defer r.Close()
	body, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(body)
}
