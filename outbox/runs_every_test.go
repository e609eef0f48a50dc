package outbox

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// refused stores n deliveries in the quarantine.
func (b *bundle) refused(t *testing.T, n int) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), `INSERT INTO hooklatch.rejected_deliveries (rejection_id, source, rejected_at, reason, known, method, host, secure, target, headers, body, bytes)
		SELECT gen_random_uuid(), 'stripe', now() - i / 2 * interval '1 millisecond', 'wrong_signature', false, 'POST', 'localhost', false, '/webhooks/stripe', '{}', '', 256
		FROM generate_series(1, $1::int) AS i`, n)
	require.NoError(t, err)
}

// An interrupted run of any action continues at its position. An operator can pause and stop it,
// and its counts are correct.
func TestARunOfEveryActionGoesOnInOtherHands(t *testing.T) {
	t.Parallel()
	const n = 3 * batchSize
	for _, action := range runs.Actions() {
		t.Run(string(action), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			order := runs.Order{Action: action}
			order.Cancel = action == erasure.ActionEraseEvent // the events still wait for their dispatch
			var changed string
			if order.OfRefused() {
				b.refused(t, n)
				changed = `SELECT ` + strconv.Itoa(n) + ` - count(*) FROM hooklatch.rejected_deliveries`
			} else if states := runs.StatesOfEvents(action); states != nil {
				b.acceptedIn(t, n, string(states[0]))
				changed = `SELECT count(*) FROM hooklatch.processed_events WHERE outcome <> '` + string(states[0]) + `'`
			} else {
				state := ledger.StatesFor(action)[0]
				b.manyFailed(t, n, "app")
				_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.effects SET state = $1, finished_at = CASE WHEN $1 = 'pending' THEN NULL ELSE finished_at END, next_attempt_at = now()`, state)
				require.NoError(t, err)
				order.Effects = find.Effects{States: []ledger.EffectState{state}}
				changed = `SELECT count(*) FROM hooklatch.effects WHERE state <> '` + string(state) + `'`
			}
			r := b.Runs().Verifying(func(context.Context, *quarantine.Delivery) (quarantine.Verdict, error) {
				return quarantine.Verdict{New: true}, nil
			})
			run, err := r.Begin(t.Context(), order, because("all of them"))
			require.NoError(t, err)
			ctx, killed := context.WithCancel(t.Context())
			run, err = r.Work(ctx, run.ID, time.Now().Add(whenever), func(runs.Run) { killed() })
			require.NoError(t, err)
			require.Positive(t, run.Changed)
			require.Less(t, run.Changed, int64(n))
			require.EqualValues(t, run.Changed, b.count(t, changed), "the count equals the number of changed targets")

			require.NoError(t, r.Pause(t.Context(), run.ID, ann))
			require.Equal(t, run.Changed, b.workOff(t, r, run.ID, nil).Changed, "a paused run does not change")
			require.NoError(t, r.Resume(t.Context(), run.ID, ann))
			run = b.workOff(t, r, run.ID, nil)
			require.Equal(t, runs.Done, run.State)
			require.Equal(t, runs.Counts{Selected: n, Changed: n, Reopened: run.Reopened}, run.Counts)
			require.Equal(t, n, b.count(t, changed))
			for _, a := range b.actions(t) {
				require.Equal(t, "ann", a.Who)
				require.Equal(t, run.ID, a.Run)
			}

			run, err = r.Begin(t.Context(), order, because("once more"))
			require.NoError(t, err)
			require.NoError(t, r.Stop(t.Context(), run.ID, ann))
			require.Equal(t, runs.Stopped, b.workOff(t, r, run.ID, nil).State)
		})
	}
}
