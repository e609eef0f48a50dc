package worker

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// configured starts a process with the bundle's routes, whose configuration file has testSource.
// The parameter left lists the sources that the file leaves to handlers.
func (b *bundle) configured(t *testing.T, left ...string) *Worker {
	t.Helper()
	return b.configuredWith(t, testSource, left)
}

func (b *bundle) configuredWith(t *testing.T, source string, left []string) *Worker {
	t.Helper()
	one := *b
	one.opts.Sources, one.opts.LeftToHandlers = []string{source}, append([]string{}, left...)
	w := one.worker(t)
	one.start(t, w)
	return w
}

// handling starts a program that has a handler for testSource and no routes.
func (b *bundle) handling(t *testing.T, handle func()) {
	t.Helper()
	one := *b
	one.opts.Routes, one.opts.Destinations = nil, nil
	w := one.worker(t)
	w.Handle(testSource, "*", func(context.Context, pgx.Tx, inbox.Event) error {
		handle()
		return nil
	})
	one.start(t, w)
}

// An event that was accepted, or is replayed, before its source has handlers waits for the
// handlers. Neither the routes of an older process nor those of a newer process dispatch the event.
func TestEventsOfASourceThatGainsHandlersWaitForThem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var routed, handled atomic.Int32
	b.to(t, func(http.ResponseWriter, *http.Request) { routed.Add(1) })
	b.configured(t) // the older process
	b.configured(t, testSource)
	b.accept(t, "evt_1", false)
	waitFor(t, b, `SELECT count(*)::integer FROM hooklatch.river_job WHERE kind = 'dispatch' AND queue = 'handlers-stripe'`)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'received' AND queue = 'handlers-stripe'`))
	b.handling(t, func() { handled.Add(1) })
	waitFor(t, b, `SELECT count(*)::integer FROM hooklatch.processed_events WHERE outcome = 'dispatched'`)
	require.EqualValues(t, 1, handled.Load())
	require.Zero(t, routed.Load())
}

// An event that waits for handlers is routed if its source no longer has handlers.
func TestEventsOfASourceThatLosesItsHandlersAreRouted(t *testing.T) {
	t.Parallel()
	for _, queue := range []string{riverjob.HandlersQueue(testSource), riverjob.QueueHandlers} {
		t.Run(queue, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			var routed atomic.Int32
			b.to(t, func(http.ResponseWriter, *http.Request) { routed.Add(1) })
			b.accept(t, "evt_1", true)
			for _, table := range []string{"river_job", "processed_events"} {
				_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.`+table+` SET queue = $1`, queue)
				require.NoError(t, err)
			}
			b.configured(t)
			waitFor(t, b, `SELECT count(*)::integer FROM hooklatch.effects WHERE state = 'done'`)
			require.EqualValues(t, 1, routed.Load())
			require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE queue = 'dispatch'`))
			require.Eventually(t, func() bool { return len(b.lines(t, "events taken back from handlers")) == 1 }, time.Minute, time.Millisecond)
		})
	}
}

// A source counts as without handlers only after a minute, because its program may be restarting.
func TestHandlersThatRestartKeepTheirEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var watch handlerWatch
		gone := func(unhandled ...string) []string { return watch.gone(unhandled, time.Minute) }
		require.Empty(t, gone("stripe", "github"))
		<-time.After(59 * time.Second)
		require.Empty(t, gone("stripe"))
		<-time.After(time.Second)
		require.Equal(t, []string{"stripe"}, gone("stripe", "github"))
		<-time.After(59 * time.Second)
		require.Equal(t, []string{"stripe"}, gone("stripe", "github"), "github had handlers meanwhile")
		<-time.After(time.Second)
		require.Equal(t, []string{"stripe", "github"}, gone("stripe", "github"))
	})
}

// A process takes events back from handlers only if its own configuration has no handlers for the
// events' source. In addition, no running process may have handlers for that source.
func TestEventsOfHandlersStayWithThem(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T, *bundle) *Worker{
		"handlers run": func(t *testing.T, b *bundle) *Worker {
			t.Helper()
			entered, release := make(chan struct{}, 2), make(chan struct{})
			b.opts.HandlerWorkers = 1
			b.handling(t, func() {
				entered <- struct{}{}
				<-release
			})
			t.Cleanup(func() { close(release) })
			b.accept(t, "evt_0", true)
			<-entered
			return b.configured(t)
		},
		"the configuration leaves them to handlers": func(t *testing.T, b *bundle) *Worker { t.Helper(); return b.configured(t, testSource) },
		"another source is configured":              func(t *testing.T, b *bundle) *Worker { t.Helper(); return b.configuredWith(t, "github", nil) },
		"the program knows of no handlers": func(t *testing.T, b *bundle) *Worker {
			t.Helper()
			w := b.worker(t)
			b.start(t, w)
			return w
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.to(t, func(http.ResponseWriter, *http.Request) {})
			w := start(t, b)
			b.accept(t, "evt_1", true)
			require.NoError(t, w.takeBackEvents(t.Context()))
			require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE queue = 'handlers-stripe' AND args ->> 'event_id' = 'evt_1'`))
			require.Equal(t, inbox.Received, b.event(t, "evt_1").Outcome)
		})
	}
}

// Processes with the same routes have different configurations if only one leaves a source to
// handlers.
func TestHandlersOfASourceMakeAnotherConfiguration(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.to(t, func(http.ResponseWriter, *http.Request) {})
	w := b.configured(t)
	former := w.routing.Load().announced.Number
	require.NoError(t, w.SetRouting(t.Context(), Routing{
		Routes: b.opts.Routes, Sources: []string{testSource}, LeftToHandlers: []string{testSource}, ConfigHash: "next",
	}))
	require.Greater(t, w.routing.Load().announced.Number, former)
}
