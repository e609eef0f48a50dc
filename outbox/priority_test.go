package outbox

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Fetched events are late already: each of their jobs is placed behind the jobs of live events,
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
			_, err = b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{{
				EffectID: identity.EffectID{Scope: "route:github:app", Key: "evt_1", Generation: 1}, Destination: "app", Queue: "dst_app", Policy: ledger.AtLeastOnce,
			}}})
			require.NoError(t, err)
			last("effect", "dispatch")
			_, err = b.Replay(t.Context(), ref, ann, inbox.ReplayOptions{})
			require.NoError(t, err)
			last("dispatch", "replay")
		})
	}
}
