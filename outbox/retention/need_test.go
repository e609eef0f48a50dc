package retention_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/retention"
)

// An event with a parked effect stays, even if its number comes after more needed numbers than one
// slice receives. The earlier numbers belong to enqueued effects, which have no event, to deleted
// events, or to events of a source with a longer period.
func TestNoNumberHidesANeededEvent(t *testing.T) {
	t.Parallel()
	const many = 200
	for name, fill := range map[string]func(t *testing.T, w *world){
		"enqueued effects in an order": func(t *testing.T, w *world) {
			t.Helper()
			require.NoError(t, pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error {
				for n := range many {
					if _, err := w.EnqueueTx(t.Context(), tx, outbox.Enqueue{
						Destination: "app", Key: identity.Key(strconv.Itoa(n)), OrderKey: "order", Request: ledger.Request{Method: "POST", Body: []byte("{}")},
					}); err != nil {
						return err
					}
				}
				return nil
			}))
		},
		"events that somebody deleted": func(t *testing.T, w *world) {
			t.Helper()
			for n := range many {
				id := fmt.Sprint("deleted_", n)
				w.accept(t, "other", id)
				w.dispatch(t, "other", id)
			}
			_, err := w.pool.Exec(t.Context(), `DELETE FROM hooklatch.processed_events`)
			require.NoError(t, err)
		},
		"events of another source": func(t *testing.T, w *world) {
			t.Helper()
			for n := range many {
				id := fmt.Sprint("other_", n)
				w.accept(t, "other", id)
				w.dispatch(t, "other", id)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			require.NoError(t, w.Fleet().RegisterDestinations(t.Context(), []fleet.Destination{{Name: "app", Kind: "http", Queue: "dst_app"}}))
			fill(t, w)
			w.accept(t, "old", "parked")
			w.settle(t, ledger.Settlement{Effect: w.claim(t, w.dispatch(t, "old", "parked")), Verdict: ledger.VerdictMaybeApplied, GiveUp: true})
			w.done(t, "old", "done")
			w.pass(t, 40*day)
			report, err := w.Retention().Run(t.Context(), retention.Order{Approved: &ann, Settings: retention.Settings{
				Dedup: map[identity.Source]time.Duration{"old": 30 * day, "other": 300 * day}, Payloads: 20 * day,
			}})
			require.NoError(t, err)
			require.True(t, report.Complete)
			require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE event_id = 'done'`))
			require.Equal(t, 1, w.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE event_id = 'parked'`))
		})
	}
}
