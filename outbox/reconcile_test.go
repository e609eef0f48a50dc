package outbox

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/repair"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func TestReconcileHealsMissingJobs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accepted(t, "stripe", "waiting")
	b.dispatched(t, "done", ledger.AtLeastOnce)
	_, err := b.pool.Exec(t.Context(), `DELETE FROM hooklatch.river_job`)
	require.NoError(t, err)

	done, err := b.Reconcile(t.Context())
	require.NoError(t, err)
	require.Zero(t, done, "within the grace, Reconcile does nothing")
	done, err = b.reconcile(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, Reconciled{Events: 1, Effects: 1}, done)
	done, err = b.reconcile(t.Context(), 0)
	require.NoError(t, err)
	require.Zero(t, done, "their jobs are live")

	_, err = b.pool.Exec(t.Context(), `UPDATE hooklatch.river_job SET state = 'discarded', finalized_at = now()`)
	require.NoError(t, err)
	done, err = b.reconcile(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, Reconciled{Events: 1, Effects: 1}, done, "a discarded job does not count as a job")
}

// I5: another effect's job does not count as the effect's own job. Started effects and effects in
// doubt need a job just like pending effects.
func TestReconcileFindsTheOneWithoutAJob(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accepted(t, "stripe", "evt_1")
	b.accepted(t, "stripe", "evt_2")
	b.dispatched(t, "pending", ledger.AtLeastOnce)
	b.dispatched(t, "with-a-job", ledger.AtLeastOnce)
	b.granted(t, b.dispatched(t, "started", ledger.AtLeastOnce), lease)
	e := b.granted(t, b.dispatched(t, "in-doubt", ledger.AtLeastOnce), lease)
	b.settle(t, e, ledger.Settlement{Verdict: ledger.VerdictMaybeApplied})
	require.Equal(t, ledger.EffectInDoubt, b.effect(t, e.EffectID).State)
	_, err := b.pool.Exec(t.Context(), `
		DELETE FROM hooklatch.river_job
		WHERE kind = 'dispatch' AND args ->> 'event_id' = 'evt_2' OR kind = 'effect' AND args ->> 'key' <> 'with-a-job'`)
	require.NoError(t, err)

	done, err := b.reconcile(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, Reconciled{Events: 1, Effects: 3}, done)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE args ->> 'event_id' = 'evt_2'`))
	for _, key := range []string{"pending", "with-a-job", "started", "in-doubt"} {
		require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect' AND args ->> 'key' = $1`, key), key)
	}
}

// The jobs of some events are not read, because other jobs precede them. A job that was not read
// does not count as missing.
func TestReconcileKnowsWhichJobsItDidNotRead(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"retried later": `UPDATE hooklatch.river_job SET state = 'retryable', scheduled_at = now() + interval '6 hours'`,
		"fetched": `WITH old AS (
				UPDATE hooklatch.river_job AS j SET priority = 4, scheduled_at = p.received_at
				FROM hooklatch.processed_events AS p WHERE p.event_id = j.args ->> 'event_id' RETURNING j.queue
			)
			INSERT INTO hooklatch.river_job (state, args, kind, max_attempts, queue, scheduled_at)
			SELECT 'available', '{"source": "stripe", "event_id": "live"}', 'dispatch', 25, max(queue), now() FROM old`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const look = 8
			b := setup(t)
			for i := range 20 {
				b.accepted(t, "stripe", fmt.Sprint("evt_", i))
			}
			_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.processed_events SET received_at = now() - interval '2 hours' + accept_seq * interval '1 second'`)
			require.NoError(t, err)
			_, err = b.pool.Exec(t.Context(), change)
			require.NoError(t, err)
			tag, err := b.Outbox.sql.EventsWithoutJob.With(eventsWithoutJob{
				Source: "stripe", Queues: []string{riverjob.QueueDispatch}, GraceSeconds: 30, Look: look,
			}).Exec(t.Context(), b.pool)
			require.NoError(t, err)
			require.Zero(t, tag.RowsAffected())
		})
	}
}

// The jobs of one source or destination cannot be inserted. All other sources and destinations get
// their jobs (I5).
func TestReconcileIsNotHeldUpByOneSourceOrDestination(t *testing.T) {
	t.Parallel()
	b := setup(t)
	names := []string{"a", "b", "c"}
	for _, name := range names {
		b.accepted(t, name, "waiting")
		e := b.accepted(t, name, "done")
		effect := planned(e, "done")
		effect.Destination = name
		_, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{effect}})
		require.NoError(t, err)
	}
	_, err := b.pool.Exec(t.Context(), `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$`)
	require.NoError(t, err)
	for _, what := range []string{"source", "destination"} {
		for _, bad := range names {
			want := Reconciled{Events: len(names), Effects: len(names)}
			where := fmt.Sprintf("NEW.kind = 'dispatch' AND NEW.args ->> 'source' = '%s'", bad)
			if want.Events--; what == "destination" {
				want.Events, want.Effects = len(names), len(names)-1
				where = fmt.Sprintf("NEW.kind = 'effect' AND NEW.args ->> 'destination' = '%s'", bad)
			}
			_, err = b.pool.Exec(t.Context(), `DELETE FROM hooklatch.river_job`)
			require.NoError(t, err)
			_, err = b.pool.Exec(t.Context(), `CREATE TRIGGER refuse BEFORE INSERT ON hooklatch.river_job FOR EACH ROW WHEN (`+where+`) EXECUTE FUNCTION refuse()`)
			require.NoError(t, err)
			done, err := b.reconcile(t.Context(), 0)
			require.ErrorContains(t, err, "of "+bad+" without a job")
			require.Equal(t, want, done, where)
			_, err = b.pool.Exec(t.Context(), `DROP TRIGGER refuse ON hooklatch.river_job`)
			require.NoError(t, err)
		}
	}
}

// One process at a time reconciles: two would enqueue everything twice.
func TestReconcileHasALock(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accepted(t, "stripe", "waiting")
	_, err := b.pool.Exec(t.Context(), `DELETE FROM hooklatch.river_job`)
	require.NoError(t, err)
	other := b.begin(t)
	_, err = b.Outbox.sql.TryLock.With(tryLock{Name: "hooklatch.reconcile"}).Exec(t.Context(), other)
	require.NoError(t, err)
	done, err := b.reconcile(t.Context(), 0)
	require.NoError(t, err)
	require.Zero(t, done)
	require.NoError(t, other.Rollback(t.Context()))
	done, err = b.reconcile(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, Reconciled{Events: 1}, done)
}

// An operator's repair waits while a worker's reconciler is running. Otherwise the repair would end
// with most of the work undone.
func TestARepairWaitsForTheReconciler(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accepted(t, "stripe", "waiting")
	_, err := b.pool.Exec(t.Context(), `DELETE FROM hooklatch.river_job`)
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `UPDATE hooklatch.processed_events SET received_at = received_at - interval '1 hour'`)
	require.NoError(t, err)
	other := b.begin(t)
	_, err = b.Outbox.sql.TryLock.With(tryLock{Name: "hooklatch.reconcile"}).Exec(t.Context(), other)
	require.NoError(t, err)
	ended := make(chan error, 1)
	var done repair.Jobs
	go func() {
		var err error
		done, err = b.Outbox.Repair().Enqueue(t.Context(), ann)
		ended <- err
	}()
	select {
	case <-ended:
		t.Fatalf("it ended with %+v", done)
	case <-time.After(200 * time.Millisecond):
	}
	require.NoError(t, other.Rollback(t.Context()))
	require.NoError(t, <-ended)
	require.Equal(t, repair.Jobs{Events: 1}, done)
}

// If jobs vanish as soon as they are inserted, a repair ends nevertheless.
func TestARepairEndsAlthoughItsJobsVanish(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accepted(t, "stripe", "waiting")
	b.dispatched(t, "done", ledger.AtLeastOnce)
	for _, statement := range []string{
		`DELETE FROM hooklatch.river_job`,
		`UPDATE hooklatch.processed_events SET received_at = received_at - interval '1 hour'`,
		`UPDATE hooklatch.effects SET next_attempt_at = next_attempt_at - interval '1 hour'`,
		`CREATE FUNCTION vanish() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$`,
		`CREATE TRIGGER vanish BEFORE INSERT ON hooklatch.river_job FOR EACH ROW EXECUTE FUNCTION vanish()`,
	} {
		_, err := b.pool.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done, err := b.Outbox.Repair().Enqueue(ctx, ann)
	require.NoError(t, err)
	require.NoError(t, ctx.Err())
	require.Equal(t, repair.Jobs{Events: 1, Effects: 1}, done)
}
