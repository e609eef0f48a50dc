package worker

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// near returns a Worker that is not started: River runs no job, so only the planner of accepted
// events can process an event.
func (b *bundle) near(t *testing.T) *Worker {
	t.Helper()
	w, err := New(b.opts)
	require.NoError(t, err)
	t.Cleanup(w.running.Wait)
	return w
}

// The process that accepts an event also plans it, and attempts its effects.
func TestEventsArePlannedWhereTheyAreAccepted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.to(t, func(http.ResponseWriter, *http.Request) {})
	w := b.near(t)
	b.outbox.PlanWith(w.near)
	for n := 1; ; n++ {
		b.accept(t, fmt.Sprint("evt_", n), false)
		left, err := b.pool.Exec(t.Context(), `DELETE FROM hooklatch.river_job WHERE kind = 'dispatch'`)
		require.NoError(t, err)
		if left.RowsAffected() == 0 {
			break
		}
		require.Less(t, n, 50, "a busy machine may have no time for a plan, but not each time")
	}
	waitFor(t, b, effectDone)
	w.running.Wait()
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.river_job`))
	require.Zero(t, w.lanes["app"].Taken())
	require.Len(t, b.lines(t, "event dispatched"), 1)
	require.EqualValues(t, 1, b.counted(t, "hooklatch.dispatch.attempts", map[string]any{"outcome": "dispatched", "first_attempt": true}))
}

// A duplicate causes no attempt, and holds no slot for one.
func TestDuplicatesArePlannedInVain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.to(t, func(http.ResponseWriter, *http.Request) {})
	b.accept(t, "evt_1", false)
	w := b.near(t)
	other, err := outbox.New(outbox.Options{Pool: b.pool, AcceptTimeout: time.Minute}) // this Outbox does not remember the event
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, other.Stop(context.Background())) })
	b.outbox = other
	other.PlanWith(w.near)
	b.accept(t, "evt_1", false)
	w.running.Wait()
	require.Zero(t, w.lanes["app"].Taken())
	require.Empty(t, b.lines(t, "event dispatched"))
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.effects`))
}

// An event that its process does not plan gets a dispatch job.
func TestEventsNotPlannedHaveJobs(t *testing.T) {
	t.Parallel()
	for name, prevent := range map[string]func(w *Worker){
		"source unknown": func(*Worker) {}, // no route names the source
		"stopped":        func(w *Worker) { w.near.stop() },
		"panicking":      func(w *Worker) { w.near.dispatch.births = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			if name != "source unknown" {
				b.to(t, func(http.ResponseWriter, *http.Request) {})
			}
			w := b.near(t)
			b.outbox.PlanWith(w.near)
			prevent(w)
			b.accept(t, "evt_1", false)
			w.running.Wait()
			require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'dispatch' AND state = 'available' AND attempt = 0 AND attempted_by IS NULL`))
			require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.effects`))
		})
	}
}

// Handlers and kept jobs need River. A worker without a gateway accepts nothing.
func TestOnlySomeProcessesPlanWhatTheyAccept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what                     string
		accepts, handlers, keeps bool
		jobs                     int // for dispatches
	}{
		{what: "gateway and worker", accepts: true},
		{what: "worker", jobs: 1},
		{what: "with handlers", accepts: true, handlers: true, jobs: 1},
		{what: "with kept jobs", accepts: true, keeps: true, jobs: 1},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.to(t, func(http.ResponseWriter, *http.Request) {})
			_, err := b.pool.Exec(t.Context(), `
				CREATE TABLE made (id bigint);
				CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO made VALUES (NEW.id); RETURN NULL; END $$;
				CREATE TRIGGER note AFTER INSERT ON hooklatch.river_job FOR EACH ROW WHEN (NEW.kind = 'dispatch') EXECUTE FUNCTION note();`)
			require.NoError(t, err)
			b.opts.Accepts = c.accepts
			w, err := New(b.opts)
			require.NoError(t, err)
			w.noStagger, w.keepsJobs = true, c.keeps
			if c.handlers {
				w.Handle(testSource, "another.type", func(context.Context, pgx.Tx, inbox.Event) error { return nil })
			}
			b.start(t, w)
			jobs := -1
			for n := range 50 { // a busy machine may have no time for a plan
				before := b.count(t, `SELECT count(*) FROM made`)
				b.accept(t, fmt.Sprint("evt_", n), c.handlers)
				waitFor(t, b, `SELECT (count(*) > $1)::integer FROM hooklatch.effects WHERE state = 'done'`, n)
				if jobs = b.count(t, `SELECT count(*) FROM made`) - before; jobs == c.jobs {
					break
				}
			}
			require.Equal(t, c.jobs, jobs)
		})
	}
}
