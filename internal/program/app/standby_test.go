package app_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// DATABASE_URL overrides database.read_url only if DATABASE_URL differs from database.url. In this
// test the two URLs are equal, so the console reads from the configured standby.
func TestTheConsoleReadsFromTheConfiguredStandby(t *testing.T) {
	t.Parallel()
	primary := pgtest.New(t, pgtest.Own())
	_, at := pgtest.Standby(t, primary)
	f := newFile(t, pgtest.URL(t, primary)+`", read_url: "`+at)
	f.write(t, "sources: {stripe: {provider: stripe, secrets: the-first-secret}}\n")
	cfg, err := f.load()
	require.NoError(t, err)
	a, err := app.New(t.Context(), app.Options{Config: cfg, DatabaseURL: secret.New(pgtest.URL(t, primary)), Gateway: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.StopPatiently(context.Background())) })
	require.Eventually(t, func() bool {
		got := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "http://localhost/events", http.NoBody)
		r.RemoteAddr = "127.0.0.1:1"
		a.AdminHandler().ServeHTTP(got, r)
		return got.Header().Get("Hooklatch-Read-From") == "Read from the standby, 0.0 s behind the primary."
	}, patience, 100*time.Millisecond)
}
