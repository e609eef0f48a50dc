package outbox

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// probe claims an attempt of an effect as a probe, settles it with s and returns the claim.
func (b *bundle) probe(t *testing.T, id identity.EffectID, s ledger.Settlement) ledger.Claimed {
	t.Helper()
	claimed, err := b.Ledger().Claim(t.Context(), ledger.Claim{ID: id, ClaimID: uuid.New(), Lease: lease, Probe: true})
	require.NoError(t, err)
	require.Equal(t, ledger.ClaimGranted, claimed.Status)
	b.settle(t, claimed.Effect, s)
	return claimed
}

// The first recorded success of a destination has the age that the process reports. If a later time
// were recorded, probes would count as attempts of effects that failed between the success and that
// time.
func TestTheFirstSuccessIsNotLaterThanItWas(t *testing.T) {
	t.Parallel()
	for _, open := range []bool{false, true} {
		b := setup(t)
		require.NoError(t, b.fleet.RegisterDestinations(t.Context(), []fleet.Destination{{Name: "app", Kind: "http", Queue: "dst_app"}}))
		if open {
			require.NoError(t, failure(b.fleet.Trip(t.Context(), "app", "it is down", time.Millisecond)))
		}
		require.NoError(t, failure(b.fleet.TripSince(t.Context(), "app", "it is down", time.Millisecond, fleet.Evidence{Succeeded: time.Hour})))
		require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.destinations WHERE succeeded_at BETWEEN now() - interval '70 minutes' AND now() - interval '1 hour'`))
	}
}

// A probe is not counted, unless another effect succeeded after this effect failed: then this
// effect may be at fault.
func TestProbesCostNoAttempts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.fleet.RegisterDestinations(t.Context(), []fleet.Destination{{Name: "app", Kind: "http", Queue: "dst_app"}}))
	id := b.dispatched(t, "evt_1", ledger.AtLeastOnce)
	fails := ledger.Settlement{Verdict: ledger.VerdictNotApplied, Error: "no connection"}
	check := func(attempt, uncounted int) {
		t.Helper()
		e := b.effect(t, id)
		require.Equal(t, []int{attempt, uncounted}, []int{e.Attempt, e.UncountedAttempts})
	}
	succeeded := func(ago time.Duration) { // reports the age of the latest success, as a failed attempt does
		t.Helper()
		require.NoError(t, failure(b.fleet.TripSince(t.Context(), "app", "it is down", time.Millisecond, fleet.Evidence{Succeeded: ago})))
	}
	trip := func() { require.NoError(t, failure(b.fleet.Trip(t.Context(), "app", "it is down", time.Millisecond))) }

	trip()
	require.False(t, b.probe(t, id, fails).OwnFault)
	check(1, 1)
	require.NoError(t, failure(b.fleet.CloseBreaker(t.Context(), "app")))
	b.settle(t, b.granted(t, id, lease), fails)
	check(2, 1)

	// No attempt has succeeded since the failure.
	trip()
	require.False(t, b.probe(t, id, fails).OwnFault)
	require.False(t, b.probe(t, id, fails).OwnFault)
	check(4, 3)
	// An attempt succeeded, but before the failure.
	succeeded(time.Hour)
	require.False(t, b.probe(t, id, fails).OwnFault)
	check(5, 4)
	// An attempt succeeded after the failure: the probe is counted once.
	succeeded(time.Microsecond)
	require.True(t, b.probe(t, id, fails).OwnFault)
	require.False(t, b.probe(t, id, fails).OwnFault)
	check(7, 5)

	// One success counts as evidence until the run of unauthorized responses ends.
	refused := ledger.Settlement{Verdict: ledger.VerdictTurnedAway, ResponseStatus: 403, Unauthorized: true}
	b.probe(t, id, refused)
	since := b.effect(t, id).RefusedSince
	require.False(t, since.IsZero())
	succeeded(time.Microsecond)
	for range 3 {
		require.True(t, b.probe(t, id, refused).OwnFault)
		require.True(t, since.Equal(b.effect(t, id).RefusedSince))
	}
	check(11, 6)
	b.probe(t, id, fails)
	require.True(t, b.effect(t, id).RefusedSince.IsZero())
}

// A claim that is repeated because its response was lost counts once.
func TestRepeatedProbeCountsOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.dispatched(t, "evt_1", ledger.AtLeastOnce)
	claim := ledger.Claim{ID: id, ClaimID: uuid.New(), Lease: lease, Probe: true}
	for range 2 {
		claimed, err := b.Ledger().Claim(t.Context(), claim)
		require.NoError(t, err)
		require.Equal(t, ledger.ClaimGranted, claimed.Status)
		require.Equal(t, 1, claimed.Effect.Attempt)
		require.Equal(t, 1, claimed.Effect.UncountedAttempts)
	}
}
