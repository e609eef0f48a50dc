package app_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/console/api"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// endless is a body of 100 MB.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	if e.read > 100e6 {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = "zone=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"[i%64]
	}
	e.read += len(p)
	return len(p), nil
}

// On every route, with and without a valid token, the admin listener stops reading a body soon
// after the allowed size. It writes few log lines for many refused requests.
func TestAdminRequestsAreBounded(t *testing.T) {
	t.Parallel()
	f := newFile(t, pgtest.URL(t, pgtest.New(t)))
	require.NoError(t, os.WriteFile(f.path, []byte(`
database: {url: "`+f.database+`", allow: [fsync_off]}
gateway: {listen: "127.0.0.1:0"}
admin:
  listen: "127.0.0.1:0"
  tokens: [{name: a, role: viewer, token: token-of-the-viewer}, {name: c, role: admin, token: token-of-the-admin}]
  console_url: http://localhost
  auth: {oidc: {issuer: "http://127.0.0.1:1", client_id: hooklatch, client_secret: the-secret}, roles: {viewer: "true"}}
sources: {stripe: {provider: stripe, secrets: the-first-secret}}
`), 0o600))
	cfg, err := f.load()
	require.NoError(t, err)
	var logs syncBuffer
	a, err := app.New(t.Context(), app.Options{Config: cfg, Gateway: true, Worker: true, Logger: slog.New(slog.NewTextHandler(&logs, nil))})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.StopPatiently(context.Background())) })
	require.NoError(t, a.Start(t.Context()))
	<-a.Prepared()

	for _, route := range a.Routes() {
		method, path, _ := strings.Cut(route.Pattern, " ")
		for part, value := range wildcards() {
			path = strings.ReplaceAll(path, part, value)
		}
		for _, token := range []string{"", "wrong", "token-of-the-viewer", "token-of-the-admin"} {
			for _, contentType := range []string{"application/x-www-form-urlencoded", "application/json"} {
				body := &endless{}
				r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, body)
				r.Header.Set("Content-Type", contentType)
				if token != "" {
					r.Header.Set("Authorization", "Bearer "+token)
				}
				a.AdminHandler().ServeHTTP(httptest.NewRecorder(), r)
				require.LessOrEqual(t, body.read, 2*api.MaxOrder, "%s as %q", route.Pattern, token)
			}
		}
	}

	before := strings.Count(logs.String(), "\n")
	for range 300 {
		for _, token := range []string{"wrong", "token-of-the-viewer"} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/effects/hl_0/retry", http.NoBody)
			r.Header.Set("Authorization", "Bearer "+token)
			a.AdminHandler().ServeHTTP(httptest.NewRecorder(), r)
		}
	}
	require.Less(t, strings.Count(logs.String(), "\n")-before, 100, "600 requests that are refused")
}
