package app_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A deprecated key causes a warning, and a metric counts it.
func TestADeprecatedKeyIsReported(t *testing.T) {
	t.Parallel()
	f := newFile(t, pgtest.URL(t, pgtest.New(t)))
	f.write(t, first+"worker: {dispatchers: 3}\n")
	cfg, err := config.Load(f.path, func(string) (string, bool) { return "", false }, config.DeprecatedKey{Path: "worker.dispatchers", Key: "dispatch_workers", Since: "1.4.0"})
	require.NoError(t, err)
	warnings := app.Warnings(cfg, secret.Value{})
	require.Len(t, warnings, 1)
	require.Equal(t, "deprecated", warnings[0].Check)
	require.Contains(t, warnings[0].Message, "worker.dispatchers: has been deprecated since version 1.4.0: write dispatch_workers")

	a, err := app.New(t.Context(), app.Options{Config: cfg, Worker: true, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.StopPatiently(context.Background())) })
	recorder := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
	request.Host = "localhost"
	a.AdminHandler().ServeHTTP(recorder, request)
	require.Regexp(t, `(?m)^hooklatch_config_deprecated(\{[^}]*\})? 1$`, recorder.Body.String())
}
