package retention_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/retention"
)

// keepOneSlice runs retention until it has processed one slice of a kind.
func (w *world) keepOneSlice(t *testing.T, s retention.Settings, what retention.What) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	report, err := w.Retention().Run(ctx, retention.Order{Settings: s, Approved: &ann, Progress: func(p retention.Part) {
		if p.What == what {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		require.NoError(t, err)
	}
	require.False(t, report.Complete, "%+v", report)
}

// Rows beyond the reach of one run are also deleted. The next run continues where the previous run
// ended. After the last row, the walk restarts.
func TestARunGoesOnWhereTheOneBeforeEndedByItsTime(t *testing.T) {
	t.Parallel()
	settings := retention.Settings{Other: 5 * day, Payloads: 2 * day, History: 8 * day}
	t.Run("effects", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		var first identity.EffectID
		for i := range 60 { // more than a slice
			id := fmt.Sprintf("waits-%02d", i)
			w.accept(t, "a", id)
			if effect := w.dispatch(t, "a", id); i == 0 {
				first = effect
			}
		}
		w.pass(t, day)
		w.done(t, "a", "last")
		w.pass(t, 20*day)
		gone := func() bool { return w.count(t, `SELECT count(*) FROM hooklatch.effects WHERE key = 'last'`) == 0 }
		w.keepOneSlice(t, settings, retention.Effects)
		require.False(t, gone())
		w.keepOneSlice(t, settings, retention.Effects)
		require.True(t, gone())

		w.settle(t, ledger.Settlement{Effect: w.claim(t, first), Verdict: ledger.VerdictDone, ResponseStatus: 200})
		w.pass(t, 10*day)
		w.keepOneSlice(t, settings, retention.Effects)
		require.Equal(t, 59, w.count(t, `SELECT count(*) FROM hooklatch.effects`))
	})
	t.Run("versions", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.done(t, "a", "first")
		w.pass(t, 20*day)
		w.run(t, `INSERT INTO hooklatch.object_versions (scope, latest_key, occurred_at, accept_seq, idempotency_key, applied_at)
			SELECT 'a/all', 'young-' || i, now(), i, 'key', now() FROM generate_series(1, 1000) AS i`)
		w.run(t, `INSERT INTO hooklatch.object_versions (scope, latest_key, occurred_at, accept_seq, idempotency_key, applied_at) 
			VALUES ('b/all', 'old', now(), 1, 'key', now() - interval '20 days')`)
		old := func() int {
			return w.count(t, `SELECT count(*) FROM hooklatch.object_versions WHERE latest_key = 'old'`)
		}
		w.keepOneSlice(t, settings, retention.Versions)
		require.Equal(t, 1, old())
		w.keepOneSlice(t, settings, retention.Versions)
		require.Zero(t, old())
		require.Equal(t, 1000, w.count(t, `SELECT count(*) FROM hooklatch.object_versions`))
	})
}
