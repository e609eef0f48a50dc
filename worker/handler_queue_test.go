package worker

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// programs starts one program with a handler for testSource and three with handlers for other
// sources. It returns a counter of the runs of the handler for testSource.
func (b *bundle) programs(t *testing.T) *atomic.Int32 {
	t.Helper()
	var ran atomic.Int32
	for i := range 4 {
		w := b.worker(t)
		if i == 0 {
			w.Handle(testSource, "*", func(context.Context, pgx.Tx, inbox.Event) error {
				ran.Add(1)
				return nil
			})
		} else {
			w.Handle(fmt.Sprintf("other-%d", i), "*", func(context.Context, pgx.Tx, inbox.Event) error { return nil })
		}
		b.start(t, w)
	}
	return &ran
}

// requireHandled waits for n events, and requires that no run failed.
func (b *bundle) requireHandled(t *testing.T, n int, ran *atomic.Int32) {
	t.Helper()
	waitLong(t, b, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'dispatched'`, n)
	require.EqualValues(t, n, ran.Load())
	require.Zero(t, b.count(t, `SELECT COALESCE(sum(cardinality(errors)), 0) FROM hooklatch.river_job WHERE kind = 'dispatch'`), "runs that failed")
	require.Equal(t, 1, b.count(t, `SELECT max(attempt) FROM hooklatch.river_job WHERE kind = 'dispatch'`), "attempts that counted")
}

func TestProgramsWithHandlersOfOtherSourcesLeaveEventsAlone(t *testing.T) {
	t.Parallel()
	const events = 60
	b := setup(t)
	ran := b.programs(t)
	for i := range events {
		b.accept(t, fmt.Sprintf("evt_%d", i), true)
	}
	b.requireHandled(t, events, ran)
	require.Equal(t, events, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE queue = 'handlers-stripe'`))
	require.Empty(t, b.lines(t, "event left to another process"))
}

// An older gateway puts the events of all sources into one queue.
func TestEventsInTheQueueOfAllHandlersFindTheirProgram(t *testing.T) {
	t.Parallel()
	const events = 60
	b := setup(t)
	for i := range events {
		b.accept(t, fmt.Sprintf("evt_%d", i), true)
	}
	for _, table := range []string{"river_job", "processed_events"} {
		_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.`+table+` SET queue = 'handlers'`)
		require.NoError(t, err)
	}
	b.requireHandled(t, events, b.programs(t))
}

// A process that has handlers, but none for an event's source, never skips or fails the event.
func TestEventWithoutItsHandlerWaits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, "evt_1", true)
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.river_job SET queue = 'handlers', max_attempts = 1`)
	require.NoError(t, err)
	w := b.worker(t)
	w.Handle("github", "*", func(context.Context, pgx.Tx, inbox.Event) error { return nil })
	events := b.start(t, w)
	for range 2 {
		snoozed := next(t, events, riverjob.KindDispatch, river.EventKindJobSnoozed)
		require.Zero(t, snoozed.Attempt)
	}
	require.Equal(t, inbox.Received, b.event(t, "evt_1").Outcome)
	require.Len(t, b.lines(t, "event left to another process"), 1, "logged once, not at every try")
}

// Handlers for all sources also serve sources that were unknown at the start.
func TestHandlersOfAllSourcesFindNewQueues(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.worker(t)
	w.Handle("*", "*", func(context.Context, pgx.Tx, inbox.Event) error { return nil })
	events := b.start(t, w)
	b.accept(t, "evt_1", true)
	require.Equal(t, "handlers-stripe", next(t, events, riverjob.KindDispatch, river.EventKindJobCompleted).Queue)
}

// HandlerWorkers limits the whole process, regardless of its number of queues.
func TestHandlersOfSeveralSourcesShareTheirBound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.opts.HandlerWorkers = 2
	w := b.worker(t)
	var running, most atomic.Int32
	entered, release := make(chan struct{}, 6), make(chan struct{})
	handle := func(context.Context, pgx.Tx, inbox.Event) error {
		now := running.Add(1)
		defer running.Add(-1)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
		}
		entered <- struct{}{}
		<-release
		return nil
	}
	for _, source := range []string{"one", "two", "three"} {
		w.Handle(source, "*", handle)
		for i := range 2 {
			_, err := b.outbox.Accept(t.Context(), outbox.Delivery{
				Source: identity.Source(source), Provider: "hmac", Body: []byte(`{}`), Handlers: true,
				Events: []outbox.Incoming{{ID: identity.EventID(fmt.Sprintf("evt_%d", i)), Type: "x"}},
			})
			require.NoError(t, err)
		}
	}
	b.start(t, w)
	<-entered
	<-entered
	waitFor(t, b, `SELECT (count(*) = 6)::integer FROM hooklatch.river_job WHERE kind = 'dispatch' AND (state = 'running' OR metadata ? 'snoozes')`)
	require.EqualValues(t, 2, running.Load())
	close(release)
	waitFor(t, b, `SELECT (count(*) = 6)::integer FROM hooklatch.processed_events WHERE outcome <> 'received'`)
	require.EqualValues(t, 2, most.Load())
}

// A program that has only handlers leaves events of other sources to workers with routes. Without
// routes, the program would skip those events.
func TestProgramWithoutRoutesLeavesOtherEventsAlone(t *testing.T) {
	t.Parallel()
	const events = 60
	b := setup(t)
	w := b.worker(t)
	w.Handle("other", "*", func(context.Context, pgx.Tx, inbox.Event) error { return nil })
	b.start(t, w)
	b.to(t, func(http.ResponseWriter, *http.Request) {})
	b.start(t, b.worker(t))
	for i := range events {
		b.accept(t, fmt.Sprintf("evt_%d", i), false)
	}
	waitFor(t, b, `SELECT (count(*) FILTER (WHERE outcome = 'received') = 0)::integer FROM hooklatch.processed_events`)
	require.Equal(t, events, b.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'dispatched'`), "the other events were skipped")
}
