package app_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A gateway does not respond 2xx if the server may lose commits, unless the configuration allows
// it. A worker acknowledges nothing, so it only logs a warning.
func TestAServerWithoutFsync(t *testing.T) {
	t.Parallel()
	f := newFile(t, pgtest.URL(t, pgtest.New(t)))
	f.write(t, first)
	start := func(gateway bool, allowed string) (*app.App, *syncBuffer) {
		cfg, err := f.load()
		require.NoError(t, err)
		cfg.Database.Allow = strings.Fields(allowed)
		var logs syncBuffer
		a, err := app.New(t.Context(), app.Options{
			Config: cfg, Gateway: gateway, Worker: true,
			Logger: slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelInfo})),
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, a.StopPatiently(context.Background())) })
		require.NoError(t, a.Start(t.Context()))
		return a, &logs
	}
	strict, _ := start(true, "")
	select {
	case err := <-strict.Failed():
		require.ErrorContains(t, err, "database: fsync is off: events that were answered with 2xx are lost if the machine loses power")
		require.ErrorContains(t, err, "allow: [fsync_off]")
	case <-time.After(patience):
		require.Fail(t, "the process does not report that fsync is off")
	}
	require.Equal(t, http.StatusUnauthorized, status(t, strict, "stripe"), "the endpoint still verifies signatures")

	for _, gateway := range []bool{true, false} {
		allowed := ""
		if gateway {
			allowed = "fsync_off"
		}
		a, logs := start(gateway, allowed)
		select {
		case <-a.Prepared():
		case err := <-a.Failed():
			require.NoError(t, err)
		case <-time.After(patience):
			require.Fail(t, "not prepared")
		}
		require.Contains(t, logs.String(), `level=WARN msg="fsync is off`)
	}
}
