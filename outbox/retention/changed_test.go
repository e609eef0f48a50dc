package retention_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/retention"
)

// runBeside calls change in a transaction, and starts retention. Once retention waits for a lock of
// the transaction, runBeside commits the transaction and waits for the end of the run.
func (w *world) runBeside(t *testing.T, settings retention.Settings, change func(tx pgx.Tx)) {
	t.Helper()
	tx, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	change(tx)
	ended := make(chan error, 1)
	go func() {
		_, err := w.Retention().Run(t.Context(), retention.Order{Settings: settings, Approved: &ann})
		ended <- err
	}()
	require.Eventually(t, func() bool {
		return w.count(t, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`) > 0
	}, 2*time.Minute, time.Millisecond, "retention did not wait for the transaction")
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-ended)
}

// Retention checks a row before it deletes the row. A row that changes in between is kept.
func TestWhatChangedSinceItWasLookedAtStays(t *testing.T) {
	t.Parallel()
	settings := retention.Settings{Dedup: map[identity.Source]time.Duration{"a": 5 * day}, Other: 5 * day, Payloads: 2 * day, History: 8 * day}
	for name, c := range map[string]struct {
		prepare       func(t *testing.T, w *world)
		change, stays string
	}{
		"an event that was replayed, and dispatched": {
			prepare: func(t *testing.T, w *world) {
				t.Helper()
				w.done(t, "a", "old")
				w.pass(t, 6*day)
			},
			change: `UPDATE hooklatch.processed_events SET generation = generation + 1, processed_at = now() WHERE event_id = 'old'`,
			stays:  `SELECT count(*) FROM hooklatch.processed_events WHERE event_id = 'old'`,
		},
		"an event that had been dropped, and was released": {
			prepare: func(t *testing.T, w *world) {
				t.Helper()
				w.accept(t, "a", "old")
				w.run(t, `UPDATE hooklatch.processed_events SET outcome = 'held'`)
				require.NoError(t, w.Inbox().Drop(t.Context(), ref("a", "old"), ann))
				w.pass(t, 6*day)
			},
			change: `UPDATE hooklatch.processed_events SET outcome = 'received', processed_at = NULL WHERE event_id = 'old'`,
			stays:  `SELECT count(*) FROM hooklatch.processed_events WHERE event_id = 'old'`,
		},
		"an effect that was tried again, and failed again": {
			prepare: func(t *testing.T, w *world) {
				t.Helper()
				w.accept(t, "a", "old")
				id := w.dispatch(t, "a", "old", func(e *ledger.NewEffect) { e.Request = ledger.Request{Method: "POST", Body: []byte("{}")} })
				w.settle(t, ledger.Settlement{Effect: w.claim(t, id), Verdict: ledger.VerdictRefused, ResponseStatus: 404})
				for range 7 {
					w.pass(t, day)
					w.keep(t, settings)
				}
				require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
				require.Equal(t, 1, w.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'failed'`))
				w.pass(t, 3*day)
			},
			change: `UPDATE hooklatch.effects SET finished_at = now() WHERE key = 'old'`,
			stays:  `SELECT count(*) FROM hooklatch.effects WHERE key = 'old'`,
		},
		"a delivery that a replay came to need": {
			prepare: func(t *testing.T, w *world) {
				t.Helper()
				waits, _ := w.keptForAnother(t, settings)
				w.settle(t, ledger.Settlement{Effect: w.claim(t, waits), Verdict: ledger.VerdictDone, ResponseStatus: 200})
				w.pass(t, day)
			},
			change: `
				WITH replayed AS (
					UPDATE hooklatch.processed_events
					SET outcome = 'received', generation = generation + 1, processed_at = NULL
					WHERE event_id = 'done'
					RETURNING accept_seq
				)
				UPDATE hooklatch.deliveries_kept SET kept_for = kept_for || replayed.accept_seq FROM replayed`,
			stays: `SELECT count(*) FROM hooklatch.deliveries_kept`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c.prepare(t, w)
			w.runBeside(t, settings, func(tx pgx.Tx) {
				changed, err := tx.Exec(t.Context(), c.change)
				require.NoError(t, err)
				require.EqualValues(t, 1, changed.RowsAffected())
			})
			require.Equal(t, 1, w.count(t, c.stays))
		})
	}
}

// A replay finds its delivery, and commits after retention has looked for needed deliveries, but
// before the day is detached.
func TestWhatAReplayCameToNeedStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.done(t, "a", "done")
	w.pass(t, 3*day)
	w.runBeside(t, retention.Settings{Payloads: day}, func(tx pgx.Tx) {
		_, err := w.Inbox().ReplayTx(t.Context(), tx, ref("a", "done"), ann, inbox.ReplayOptions{NewKeys: true})
		require.NoError(t, err)
	})
	require.Equal(t, bodyOf("done"), w.loaded(t, "a", "done").Body)
}
