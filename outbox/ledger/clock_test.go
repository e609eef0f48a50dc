package ledger

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// ahead moves the times of an effect into the future, as if the database's clock had
// been set back afterwards.
func (b *ledgerBundle) ahead(t *testing.T, key any) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), `
		UPDATE hooklatch.effects
		SET
			created_at = created_at + interval '30 days',
			first_attempt_at = first_attempt_at + interval '30 days',
			last_attempt_at = last_attempt_at + interval '30 days',
			claimed_at = claimed_at + interval '30 days',
			lease_until = lease_until + interval '30 days'
		WHERE key = $1`, key)
	require.NoError(t, err)
}

// The database's clock was a month ahead when an attempt began, and is correct when it ends. The
// ledger records this attempt and the attempts that end at the same time.
func TestAnAttemptOfTheFutureIsSettled(t *testing.T) {
	t.Parallel()
	b := ledgerOn(t)
	started := make([]Effect, 8)
	for i := range started {
		started[i] = b.granted(t, b.added(t, fmt.Sprintf("evt_%d", i), AtLeastOnce))
	}
	b.ahead(t, string(started[3].Key))
	var settling sync.WaitGroup
	for _, e := range started {
		settling.Go(func() {
			settled, err := b.Settle(t.Context(), Settlement{Effect: e, Verdict: VerdictDone})
			if err != nil || settled.Late {
				t.Errorf("%s: %+v, %v", e.Key, settled, err)
			}
		})
	}
	settling.Wait()
	require.Equal(t, len(started), b.count(t, `SELECT count(*) FROM hooklatch.all_attempts WHERE state = 'done' AND started_at <= now()`))
}

// An attempt began while the clock was a month ahead, and its worker was lost. The effect does not
// wait for a month.
func TestALeaseOfTheFutureIsOver(t *testing.T) {
	t.Parallel()
	for policy, verdict := range map[Policy]EffectState{AtLeastOnce: EffectStarted, AtMostOnce: EffectParked} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			b := ledgerOn(t)
			id := b.added(t, "evt_1", policy)
			first := b.granted(t, id)
			b.ahead(t, string(first.Key))
			asked := claiming(id)
			asked.ClaimID = uuid.New()
			claimed, err := b.Claim(t.Context(), asked)
			require.NoError(t, err)
			require.Equal(t, verdict, claimed.Effect.State)
			require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.all_attempts WHERE lost AND attempt = 1 AND started_at <= now()`))
			require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE maybe_applied_since <= now()`))
			late, err := b.Settle(t.Context(), Settlement{Effect: first, Verdict: VerdictDone})
			require.NoError(t, err)
			require.True(t, late.Late)

			// The effect is found by its key, although its time of creation is in the future.
			found, err := b.Effect(t.Context(), first.IdempotencyKey)
			require.NoError(t, err)
			require.Equal(t, first.Key, found.Key)
		})
	}
}
