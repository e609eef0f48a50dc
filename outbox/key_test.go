package outbox

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func (b *bundle) claimWithTTL(t *testing.T, id identity.EffectID, ttl time.Duration) ledger.Claimed {
	t.Helper()
	c, err := b.Ledger().Claim(t.Context(), ledger.Claim{ID: id, ClaimID: uuid.New(), Lease: lease, KeyTTL: ttl})
	require.NoError(t, err)
	return c
}

// backdate moves the recorded times of an effect into the past.
func (b *bundle) backdate(t *testing.T, id identity.EffectID, by time.Duration) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), `SET session_replication_role = replica;
		UPDATE hooklatch.effects SET
			created_at = created_at - make_interval(secs => `+seconds(by)+`),
			maybe_applied_since = maybe_applied_since - make_interval(secs => `+seconds(by)+`),
			last_attempt_at = last_attempt_at - make_interval(secs => `+seconds(by)+`),
			reopened_at = reopened_at - make_interval(secs => `+seconds(by)+`)
		WHERE idempotency_key = '`+id.IdempotencyKey()+`';
		RESET session_replication_role`)
	require.NoError(t, err)
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// The first attempt timed out after sending, and the second was certainly not applied. The lifetime
// of the key counts from the first attempt.
func TestKeyTTLCountsFromTheFirstDoubt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const day = 24 * time.Hour
	id := b.dispatched(t, "evt_1", ledger.AtLeastOnce)
	settle := func(v ledger.Verdict) {
		c := b.claimWithTTL(t, id, day)
		require.Equal(t, ledger.ClaimGranted, c.Status)
		b.settle(t, c.Effect, ledger.Settlement{Verdict: v})
	}
	settle(ledger.VerdictMaybeApplied)
	b.backdate(t, id, 23*time.Hour)
	settle(ledger.VerdictNotApplied)
	settle(ledger.VerdictMaybeApplied)
	require.Equal(t, ledger.EffectInDoubt, b.effect(t, id).State)
	b.backdate(t, id, 2*time.Hour)
	require.Equal(t, ledger.ClaimGranted, b.claimWithTTL(t, b.dispatched(t, "evt_2", ledger.AtLeastOnce), time.Nanosecond).Status, "without doubt there is no limit")

	c := b.claimWithTTL(t, id, day)
	require.Equal(t, ledger.ClaimParked, c.Status)
	require.Contains(t, c.Effect.Error, "key_ttl")
	require.Equal(t, ledger.EffectParked, b.effect(t, id).State)

	require.NoError(t, b.Ledger().Retry(t.Context(), id.IdempotencyKey(), ann), "an operator may request it")
	c = b.claimWithTTL(t, id, day)
	require.Equal(t, ledger.ClaimGranted, c.Status)
	b.settle(t, c.Effect, ledger.Settlement{Verdict: ledger.VerdictNotApplied})
	b.backdate(t, id, 25*time.Hour)
	require.Equal(t, ledger.ClaimParked, b.claimWithTTL(t, id, day).Status)
}

// A lost attempt puts the effect in doubt, so the lifetime of the key counts from that attempt.
func TestKeyTTLCountsFromALostAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.dispatched(t, "evt_1", ledger.AtLeastOnce)
	b.granted(t, id, time.Nanosecond)
	b.backdate(t, id, 25*time.Hour)
	c := b.claimWithTTL(t, id, 24*time.Hour)
	require.Equal(t, ledger.ClaimParked, c.Status)
	attempts, err := b.Ledger().Attempts(t.Context(), id)
	require.NoError(t, err)
	require.Len(t, attempts, 1)
	require.True(t, attempts[0].Lost)
	require.Equal(t, ledger.EffectParked, attempts[0].State)
}

func TestRotateKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.dispatched(t, "evt_1", ledger.AtLeastOnce)
	own := id.IdempotencyKey()
	first := b.granted(t, id, lease)
	require.Equal(t, own, first.WireKey)
	for range 2 { // the second is a retry after a lost COMMIT response
		b.settle(t, first, ledger.Settlement{Verdict: ledger.VerdictMaybeApplied, ResponseStatus: 500, RotateKey: true})
	}
	second := b.granted(t, id, lease)
	require.Equal(t, own+"_1", second.WireKey)
	require.Equal(t, own, second.IdempotencyKey)
	require.Equal(t, first.Request, second.Request)
	b.settle(t, second, ledger.Settlement{Verdict: ledger.VerdictDone, RotateKey: true})
	e, err := b.Ledger().Effect(t.Context(), own+"_1")
	require.NoError(t, err, "the effect is found by the key that the receiver logged")
	require.Equal(t, 1, e.KeyRotations, "a done effect needs no other key")
	attempts, err := b.Ledger().Attempts(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, []int{0, 1}, []int{attempts[0].KeyRotation, attempts[1].KeyRotation})
}
