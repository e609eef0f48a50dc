package ledger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/column"
)

// An effect was tried again and failed again between the selection and the locks. The new failure
// is later than the preview, so the effect is neither retried nor cancelled.
func TestWhatFailedAgainAfterThePreviewIsLeftAlone(t *testing.T) {
	t.Parallel()
	b := ledgerOn(t)
	id := b.failed(t, "evt_1")
	finished := b.stands(t, id).FinishedAt
	for _, c := range []struct {
		asOf time.Time
		n    int
	}{{finished.Add(-time.Microsecond), 0}, {finished, 1}} {
		for action, states := range map[Action][]EffectState{ActionCancelEffect: {EffectFailed}, ActionRetryEffect: {EffectFailed}} {
			tx := b.begin(t)
			came, err := b.change(t.Context(), tx, action, chosenEffects{IdempotencyKeys: []string{id.IdempotencyKey()}, States: states, FinishedUntil: column.TimeOrNull(c.asOf)}, time.Time{}, tester)
			require.NoError(t, err)
			require.EqualValues(t, c.n, came.Affected, action)
			require.NoError(t, tx.Rollback(t.Context()))
		}
	}
}
