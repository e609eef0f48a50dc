package app_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

func TestTeardownIsLastInFirstOut(t *testing.T) {
	t.Parallel()
	var order []string
	var down app.Teardown
	for _, name := range []string{"first", "second", "third"} {
		down.Add(name, time.Minute, func(ctx context.Context) error {
			_, bounded := ctx.Deadline()
			require.True(t, bounded)
			order = append(order, name)
			if name == "second" {
				return errors.New("stuck")
			}
			return nil
		})
	}
	require.EqualError(t, down.Run(t.Context(), time.Minute), "stop second: stuck")
	require.Equal(t, []string{"third", "second", "first"}, order)
	require.NoError(t, down.Run(t.Context(), time.Minute))
	require.Len(t, order, 3)
}

// A step that does not return is left running. The stop still ends in time, and its error names the
// steps that did not stop. If no work depends on a step, its failure is not an error of the stop.
func TestAStopIsBoundedAsAWhole(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		down := app.Teardown{Logger: slog.New(slog.NewTextHandler(&log, nil))}
		release := make(chan struct{})
		hangs := func(context.Context) error { <-release; return nil }
		never := func(context.Context) error { t.Error("there is no time for it"); return nil }
		down.Add("connections", time.Minute, never)
		down.Add("outbox", time.Minute, never)
		down.Add("worker", time.Minute, hangs)
		down.AddMinor("admin", time.Second, hangs)
		down.AddMinor("telemetry", time.Second, func(context.Context) error { return errors.New("refused") })
		began := time.Now()
		err := down.Run(t.Context(), 5*time.Second)
		require.EqualError(t, err, "stop worker: is still running\nthe stop took longer than 5s: not stopped: outbox, connections")
		require.Less(t, time.Since(began), 5500*time.Millisecond)
		require.Contains(t, log.String(), `level=WARN msg="could not stop telemetry" err=refused`)
		require.Contains(t, log.String(), `level=WARN msg="could not stop admin" err="is still running"`)
		close(release)
	})
}

// The error for an invalid URL never quotes the URL (I12).
func TestPoolErrorsKeepThePassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://u:canary@h:port/d", "host=h password=canary port=x", "postgres://u:canary@@%zz", "canary"} {
		_, err := app.NewPool(t.Context(), app.PoolOptions{URL: secret.New(url), MaxConns: 1})
		require.Error(t, err)
		require.NotContains(t, err.Error(), "canary")
	}
	_, err := app.NewPool(t.Context(), app.PoolOptions{MaxConns: 1})
	require.ErrorContains(t, err, "DATABASE_URL")
}
