package outbox

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Fetched events are late already. Each of their jobs is placed behind the jobs of webhooks,
// whichever code inserted it.
func TestJobsOfFetchedEventsGoLast(t *testing.T) {
	t.Parallel()
	for origin, priority := range map[identity.Origin]int{identity.Webhook: 1, identity.Backfill: 4} {
		t.Run(string(origin), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			ref := identity.EventRef{Source: "github", EventID: "evt_1"}
			last := func(kind, inserted string) {
				t.Helper()
				require.Equal(t, priority, b.count(t, `SELECT priority FROM hooklatch.river_job WHERE kind = $1 ORDER BY id DESC LIMIT 1`, kind), inserted)
				_, err := b.pool.Exec(t.Context(), `DELETE FROM hooklatch.river_job`)
				require.NoError(t, err)
			}
			d := delivery("github", "evt_1")
			d.Origin = origin
			_, err := b.Accept(t.Context(), d)
			require.NoError(t, err)
			last("dispatch", "accept")
			_, err = b.reconcile(t.Context(), 0)
			require.NoError(t, err)
			last("dispatch", "reconcile")
			e, err := b.Event(t.Context(), ref)
			require.NoError(t, err)
			effect := planned(e, "evt_1")
			key := effect.IdempotencyKey()
			_, err = b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{effect}})
			require.NoError(t, err)
			last("effect", "dispatch")
			_, err = b.reconcile(t.Context(), 0)
			require.NoError(t, err)
			last("effect", "reconcile")
			require.NoError(t, b.Ledger().Park(t.Context(), key, ann))
			require.NoError(t, b.Ledger().Retry(t.Context(), key, ann))
			last("effect", "retry")
			require.NoError(t, b.Ledger().Park(t.Context(), key, ann))
			_, err = b.Replay(t.Context(), ref, ann, inbox.ReplayOptions{})
			require.NoError(t, err)
			require.Equal(t, 2, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE priority = $1`, priority), "replay")
		})
	}
}

// The next effect of an order gets its job when the preceding effect ends. The reconciler inserts
// the job if it is missing.
func TestJobsOfFetchedEventsInAnOrderGoLast(t *testing.T) {
	t.Parallel()
	b := setup(t)
	jobs := func() (priorities []int) {
		rows, err := b.pool.Query(t.Context(), `WITH gone AS (DELETE FROM hooklatch.river_job RETURNING *) SELECT priority FROM gone WHERE kind = 'effect'`)
		require.NoError(t, err)
		priorities, err = pgx.CollectRows(rows, pgx.RowTo[int])
		require.NoError(t, err)
		return priorities
	}
	var keys []string
	for _, one := range []struct {
		id     identity.EventID
		origin identity.Origin
	}{{"live", identity.Webhook}, {"fetched", identity.Backfill}, {"live again", identity.Webhook}} {
		d := delivery("stripe", string(one.id))
		d.Origin = one.origin
		_, err := b.Accept(t.Context(), d)
		require.NoError(t, err)
		e, err := b.Event(t.Context(), identity.EventRef{Source: "stripe", EventID: one.id})
		require.NoError(t, err)
		effect := planned(e, string(one.id))
		effect.OrderKey = "invoice"
		_, err = b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{effect}})
		require.NoError(t, err)
		keys = append(keys, effect.IdempotencyKey())
	}
	require.Equal(t, []int{1}, jobs(), "the first effect of the order has a job")
	require.NoError(t, b.Ledger().Cancel(t.Context(), keys[0], ann))
	require.Equal(t, []int{4}, jobs(), "the next effect belongs to the fetched event")
	_, err := b.reconcile(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, []int{4}, jobs(), "reconcile")
	require.NoError(t, b.Ledger().Cancel(t.Context(), keys[1], ann))
	require.Equal(t, []int{1}, jobs(), "the next effect belongs to a live event")
}
