package app_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func healthz(t *testing.T, a *app.App) int {
	t.Helper()
	recorder := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/healthz", http.NoBody)
	request.Host = "localhost"
	a.AdminHandler().ServeHTTP(recorder, request)
	return recorder.Code
}

// If a pool answers nothing for 2 minutes although Postgres is available, the liveness probe fails,
// so that the process is restarted.
func TestADeafPoolFailsLiveness(t *testing.T) {
	t.Parallel()
	f := newFile(t, pgtest.URL(t, pgtest.New(t)))
	f.write(t, first)
	var logs syncBuffer
	a := started(t, f, &logs)
	listen := func(times int) {
		for range times {
			a.Listen(t.Context(), "accept", 20*time.Millisecond, patience)
		}
	}
	giveBack, err := a.HoldAcceptPool(t.Context())
	require.NoError(t, err)
	listen(app.DeafChecks / 2)
	require.Equal(t, http.StatusOK, healthz(t, a))
	listen(app.DeafChecks)
	require.Equal(t, http.StatusServiceUnavailable, healthz(t, a))
	require.Contains(t, logs.String(), "the process needs a restart")

	giveBack()
	require.Eventually(t, func() bool {
		a.Listen(t.Context(), "accept", patience, patience)
		return healthz(t, a) == http.StatusOK
	}, patience, time.Millisecond)
	require.Contains(t, logs.String(), "the pool works again")
}

// A pool whose connections are all in use is busy, not deaf, if it still hands connections out.
func TestABusyPoolIsNotDeaf(t *testing.T) {
	t.Parallel()
	f := newFile(t, pgtest.URL(t, pgtest.New(t)))
	f.write(t, first)
	var logs syncBuffer
	a := started(t, f, &logs)
	for range app.DeafChecks + 1 {
		giveBack, err := a.HoldAcceptPool(t.Context())
		require.NoError(t, err)
		a.Listen(t.Context(), "accept", 5*time.Millisecond, patience)
		giveBack()
	}
	require.Equal(t, http.StatusOK, healthz(t, a))
}

// A restart does not help while Postgres is unavailable, however long the outage lasts.
func TestADatabaseThatIsAwayIsNoReasonForARestart(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Own())
	f := newFile(t, pgtest.URL(t, pool))
	f.write(t, first)
	var logs syncBuffer
	a := started(t, f, &logs)
	server := pgtest.Server(t, pool)
	require.NoError(t, pgtest.Pause(server))
	t.Cleanup(func() { require.NoError(t, pgtest.Resume(server)) })
	for range app.DeafChecks + 1 {
		a.Listen(t.Context(), "accept", 10*time.Millisecond, 10*time.Millisecond)
	}
	require.Equal(t, http.StatusOK, healthz(t, a))
}

// A lock of another session may block every connection of the worker, for any length of time. A
// restart would not help: the new process would wait for the same lock.
func TestAPoolThatWaitsForALockIsNotDeaf(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	f := newFile(t, pgtest.URL(t, pool))
	var many strings.Builder // many queues: the worker fetches the jobs of each without a time limit
	for i := range 2 * app.FewestConnsToWork {
		fmt.Fprintf(&many, "  app%d: {http: {url: http://localhost:1/}}\n", i)
	}
	f.write(t, "\nsources: {stripe: {provider: stripe, secrets: [the-first-secret]}}\ndestinations:\n"+many.String()+"routes: [{name: all, from: stripe, to: app0}]\n")
	var logs syncBuffer
	a := started(t, f, &logs)
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(context.Background())) }()
	_, err = tx.Exec(t.Context(), `LOCK TABLE hooklatch.river_job`)
	require.NoError(t, err)
	// A query that exceeds its time limit closes its connection. The pool replaces the connection
	// within a few checks.
	waits := func() bool {
		var sessions int
		err := pool.QueryRow(t.Context(), `
			SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND COALESCE(xact_start, query_start) < clock_timestamp() - INTERVAL '100 milliseconds'`,
		).Scan(&sessions)
		return err == nil && sessions >= app.FewestConnsToWork && a.WorkPoolIsExhausted()
	}
	for range app.DeafChecks + 1 {
		require.Eventually(t, waits, patience, 10*time.Millisecond)
		a.Listen(t.Context(), "work", 20*time.Millisecond, patience)
	}
	require.Equal(t, http.StatusOK, healthz(t, a))
	require.NotContains(t, logs.String(), "the process needs a restart")
}
