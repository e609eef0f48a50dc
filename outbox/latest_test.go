package outbox

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// version dispatches an effect with the version that the object sub_1 had at a time, and returns the
// effect's id.
func (b *bundle) version(t *testing.T, eventID string, at time.Time) identity.EffectID {
	t.Helper()
	d := delivery("stripe", eventID)
	d.Events[0].OccurredAt = at
	_, err := b.Accept(t.Context(), d)
	require.NoError(t, err)
	e, err := b.Event(t.Context(), identity.EventRef{Source: "stripe", EventID: identity.EventID(eventID)})
	require.NoError(t, err)
	effect := planned(e, eventID)
	effect.LatestKey = "sub_1"
	_, err = b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{effect}})
	require.NoError(t, err)
	return effect.EffectID
}

// An older version of a subscription is claimed after a newer version was applied.
func TestOlderVersionIsSuperseded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	newer := b.version(t, "evt_newer", noon)
	older := b.version(t, "evt_older", noon.Add(-time.Second))
	same := b.version(t, "evt_same_second", noon)
	require.Equal(t, ledger.ClaimBlocked, b.claim(t, older, lease).Status, "versions of an object run one after another")
	b.settle(t, b.granted(t, newer, lease), ledger.Settlement{Verdict: ledger.VerdictDone})
	require.Equal(t, 1, b.jobs(t, older))

	c := b.claim(t, older, lease)
	require.Equal(t, ledger.ClaimSuperseded, c.Status)
	require.Equal(t, newer.IdempotencyKey(), c.Effect.SupersededBy)
	require.Equal(t, ledger.EffectCancelled, c.Effect.State)
	e := b.effect(t, older)
	require.Equal(t, ledger.EffectCancelled, e.State)
	require.Equal(t, newer.IdempotencyKey(), e.SupersededBy)
	require.Contains(t, e.Error, "superseded")
	require.Zero(t, e.Attempt, "the older version was never attempted")
	transitions, err := b.Ledger().Transitions(t.Context(), older)
	require.NoError(t, err)
	require.Contains(t, transitions[len(transitions)-1].Reason, newer.IdempotencyKey())
	require.Equal(t, ledger.ClaimSuperseded, b.claim(t, older, lease).Status, "a repeated claim gets the same result")

	require.Equal(t, 1, b.jobs(t, same), "the next effect in the order was woken")
	b.settle(t, b.granted(t, same, lease), ledger.Settlement{Verdict: ledger.VerdictDone}) // ties are decided by arrival
	late := b.version(t, "evt_late", noon.Add(-time.Second))
	require.Equal(t, same.IdempotencyKey(), b.claim(t, late, lease).Effect.SupersededBy, "among versions with equal times, the last to arrive is the newest")
	last := b.version(t, "evt_last", noon.Add(time.Hour))
	b.granted(t, last, lease)
}

// A version that the receiver refused supersedes nothing.
func TestOnlyAppliedVersionsCount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	newer, older := b.version(t, "evt_newer", noon), b.version(t, "evt_older", noon.Add(-time.Minute))
	b.settle(t, b.granted(t, newer, lease), ledger.Settlement{Verdict: ledger.VerdictRefused})
	b.granted(t, older, lease)
}

// The time of arrival counts if the provider gives no time.
func TestVersionWithoutATime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, second := b.version(t, "evt_1", time.Time{}), b.version(t, "evt_2", time.Time{})
	require.False(t, b.effect(t, first).OccurredAt.IsZero())
	for _, id := range []identity.EffectID{first, second} {
		b.settle(t, b.granted(t, id, lease), ledger.Settlement{Verdict: ledger.VerdictDone})
	}
}

// An older version that is done after a newer version was recorded does not become the newest.
func TestOlderVersionThatIsDoneLateIsNotTheNewest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	older := b.granted(t, b.version(t, "evt_older", noon), lease)
	_, err := b.pool.Exec(t.Context(), `
		INSERT INTO hooklatch.object_versions (scope, latest_key, occurred_at, accept_seq, idempotency_key)
		VALUES ($1, 'sub_1', $2, 1000, 'newer')`, older.Scope, noon.Add(time.Hour))
	require.NoError(t, err)
	b.settle(t, older, ledger.Settlement{Verdict: ledger.VerdictDone})
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.object_versions WHERE idempotency_key = 'newer'`))
}
