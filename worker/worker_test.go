package worker

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/agreement"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/schema/pgtest"
	"github.com/hooklatch/hooklatch/worker/route"
)

func TestStopDrains(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.opts.SoftStop = 2 * time.Minute
	called, release := make(chan struct{}), make(chan struct{})
	b.to(t, func(http.ResponseWriter, *http.Request) {
		close(called)
		<-release
	})
	w := b.worker(t)
	b.start(t, w)
	b.accept(t, "evt_1", false)
	<-called

	ended := make(chan error)
	go func() { ended <- w.Stop(context.Background()) }()
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, w.Stop(impatient), context.Canceled, "one caller's context does not end the other call")
	select {
	case err := <-ended:
		t.Fatalf("stopped with an attempt under way: %v", err)
	default:
	}
	close(release)
	require.NoError(t, <-ended)
	require.NoError(t, w.Stop(t.Context()))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`))
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE state = 'running'`))
	require.Error(t, w.Start(t.Context()))
}

// A stop that interrupts an attempt does not count against the destination: other processes
// continue to call it.
func TestAStopPausesNoDestination(t *testing.T) {
	t.Parallel()
	b := setup(t)
	called, release := make(chan struct{}), make(chan struct{})
	b.to(t, func(http.ResponseWriter, *http.Request) {
		close(called)
		<-release
	}, func(d *DestinationOptions) { d.Breaker.Failures = 1 })
	t.Cleanup(func() { close(release) })
	b.opts.SoftStop = time.Millisecond
	w := b.worker(t)
	b.start(t, w)
	b.accept(t, "evt_1", false)
	<-called
	stop(t, w)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'in_doubt'`), "the outcome is recorded nevertheless")
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.destinations WHERE breaker_state = 'closed'`))
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	t.Run("EmptyDatabase", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.opts.Pool = pgtest.New(t, pgtest.Empty())
		w := b.worker(t)
		require.Error(t, w.Start(t.Context()))
		require.NoError(t, w.Stop(t.Context()))
	})
	t.Run("BadHandler", func(t *testing.T) {
		t.Parallel()
		w := setup(t).worker(t)
		w.Handle("", "*", func(context.Context, pgx.Tx, inbox.Event) error { return nil })
		w.Handle("stripe", "*", nil)
		err := w.Start(t.Context())
		require.ErrorContains(t, err, `handler of "" "*": source is empty`)
		require.ErrorContains(t, err, `handler of "stripe" "*": function is nil`)
	})
}

func TestSetRoutes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.to(t, func(http.ResponseWriter, *http.Request) {})
	w := b.worker(t)
	events := b.start(t, w)

	require.NoError(t, w.SetRoutes(nil, "none"))
	b.accept(t, "evt_1", false)
	require.Equal(t, "skipped", outputOf(t, next(t, events, riverjob.KindDispatch, river.EventKindJobCompleted)).Outcome)
	require.Equal(t, "none", b.event(t, "evt_1").ConfigHash)

	require.Error(t, w.SetRoutes([]route.Route{{Name: "bad", From: []string{"*"}, To: "nowhere"}}, "bad"))
	b.accept(t, "evt_2", false)
	next(t, events, riverjob.KindDispatch, river.EventKindJobCompleted)
	require.Equal(t, "none", b.event(t, "evt_2").ConfigHash, "a bad set of routes changes nothing")

	require.NoError(t, w.SetRoutes(b.opts.Routes, "all"))
	b.accept(t, "evt_3", false)
	require.Equal(t, "dispatched", outputOf(t, next(t, events, riverjob.KindDispatch, river.EventKindJobCompleted)).Outcome)
}

func TestUpkeepRunsAtStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.start(t, b.worker(t))
	for _, kind := range []string{kindPartitions, kindReconcile, kindRetention, kindRedact} {
		waitFor(t, b, `SELECT count(*) FROM hooklatch.river_job WHERE kind = $1 AND queue = $2 AND state = 'completed' AND attempt = 1`, kind, riverjob.QueueUpkeep)
	}
}

// The worker moves effects that wait in their destination's former queue to the new queue.
func TestWaitingEffectsFollowTheirQueue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.to(t, func(http.ResponseWriter, *http.Request) {}, func(d *DestinationOptions) { d.Queue = "before" })
	w := b.worker(t)
	require.NoError(t, w.registerDestinations(t.Context()))
	for _, state := range []string{"scheduled", "retryable", "available"} {
		id := "evt_" + state
		b.accept(t, id, false)
		effects, err := w.routing.Load().table.Plan(t.Context(), b.event(t, id))
		require.NoError(t, err)
		_, err = b.outbox.Dispatch(t.Context(), outbox.Dispatch{Event: b.event(t, id), Effects: effects})
		require.NoError(t, err)
		if state == "available" {
			continue
		}
		_, err = b.pool.Exec(t.Context(), `
			UPDATE hooklatch.river_job
			SET state = $1::text::hooklatch.river_job_state, scheduled_at = now() + interval '1 hour'
			WHERE kind = 'effect' AND args ->> 'key' = $2`, state, id)
		require.NoError(t, err)
	}

	b.opts.Destinations[0].Queue = "after"
	events := b.start(t, b.worker(t))
	require.Equal(t, "after", next(t, events, riverjob.KindEffect, river.EventKindJobCompleted).Queue)
	waitFor(t, b, `SELECT (count(*) = 3)::integer FROM hooklatch.river_job WHERE kind = 'effect' AND queue = 'after'`)
}

func TestOptionsRefused(t *testing.T) {
	t.Parallel()
	_, err := New(Options{
		Schema:      "Bad",
		JobTimeout:  time.Minute,
		RescueAfter: time.Second,
		SoftStop:    -1,
		ID:          strings.Repeat("i", 101),
		Destinations: []DestinationOptions{
			{Name: "a"},
			{Name: "a", Sender: fakeSender("http"), Queue: "Upper"},
			{Name: "b", Sender: fakeSender("http"), Queue: "upkeep"},
			{Name: "c", Sender: fakeSender("http"), Policy: "exactly_once"},
			{Name: "d", Sender: fakeSender("http"), Rate: -1},
		},
	})
	require.Equal(t, `worker: Pool is required
Outbox is required
schema name "Bad" must consist of lower-case letters, digits and underscores and must not begin with a digit
soft_stop: -1ns is too short; it must be longer than 0s
RescueAfter is 1s; it must be longer than JobTimeout (1m0s)
ID has 101 characters; at most 100 are allowed
destination "a": Sender is required
destination "a" is given twice
destination "a": queue: "Upper" is not a queue name; allowed: lower-case letters and digits with single _, - or | between them, at most 64
destination "b": queue: "upkeep" is reserved for another purpose
destination "c": policy: "exactly_once" is not a policy; allowed: at_least_once, at_most_once
destination "d": rate: -1 is too small; it must be at least 0 (no limit)`, err.Error())
}

// Logs are copied to many systems: they contain the number of rows that a check returned, but not
// the rows.
func TestUpkeepRunsTheChecks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.opts.Checks = func() []agreement.Check {
		return []agreement.Check{
			{Name: "clean", SQL: `SELECT 1 WHERE false`},
			{Name: "found", SQL: `SELECT 'canary-of-a-row' AS card, n FROM generate_series(1, 3) AS n`},
			{Name: "failed", SQL: `SELECT 'canary-of-a-row'::integer`},
		}
	}
	b.start(t, b.worker(t))
	waitFor(t, b, `SELECT count(*) FROM hooklatch.river_job WHERE kind = $1 AND state = 'completed'`, kindChecks)
	for _, name := range []string{"clean", "found", "failed"} {
		require.EqualValues(t, 1, b.counted(t, "hooklatch.checks", map[string]any{"check": name, "outcome": name}))
	}
	found := b.lines(t, "check found rows: `hooklatch check` shows them")
	require.Len(t, found, 1)
	require.Equal(t, "found", found[0]["check"])
	require.EqualValues(t, 3, found[0]["count"])
	failed := b.lines(t, "check cannot be run: `hooklatch check` says why")
	require.Len(t, failed, 1)
	require.Equal(t, "SQLSTATE 22P02", failed[0]["reason"])
	require.NotContains(t, fmt.Sprint(found, failed), "canary")
}
