package ledger

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// The first effect of an order is committed while the second effect is being claimed. Under the
// order's lock, the claim of the first effect sees that a later effect is being attempted.
func TestOrderIsAskedUnderItsLock(t *testing.T) {
	t.Parallel()
	b := ledgerOn(t)
	enqueue := func(tx pgx.Tx, key string) identity.EffectID {
		return b.add(t, tx, NewEffect{EffectID: identity.EffectID{Key: identity.Key(key)}, OrderKey: "one"})
	}
	slow, quick := b.begin(t), b.begin(t)
	first, second := enqueue(slow, "first"), enqueue(quick, "second")
	require.NoError(t, quick.Commit(t.Context()))
	holding, asking := b.begin(t), b.begin(t)
	granted, err := b.claimBatch(t.Context(), holding, []Claim{claiming(second)})
	require.NoError(t, err)
	require.Equal(t, ClaimGranted, granted[0].Status)
	require.NoError(t, slow.Commit(t.Context()))
	answer := make(chan ClaimStatus, 1)
	go func() {
		claimed, err := b.claimBatch(context.Background(), asking, []Claim{claiming(first)})
		if err != nil {
			t.Errorf("claim: %v", err)
			claimed = []*Claimed{{}}
		}
		answer <- claimed[0].Status
	}()
	require.Eventually(t, func() bool {
		return len(answer) > 0 || b.count(t, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND pid = $1`, asking.Conn().PgConn().PID()) == 1
	}, 2*time.Minute, time.Millisecond)
	require.NoError(t, holding.Commit(t.Context()))
	require.Equal(t, ClaimBlocked, <-answer)
	require.NoError(t, asking.Rollback(t.Context()))
}
