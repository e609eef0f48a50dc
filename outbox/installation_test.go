package outbox

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// elsewhere makes the database look as if it had been moved to another server.
func (b *bundle) elsewhere(t *testing.T, change string) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.installation SET `+change)
	require.NoError(t, err)
}

// restored records that the database was restored just now, on this server, to its state of
// a minute ago.
func (b *bundle) restored(t *testing.T) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), `
		UPDATE hooklatch.installation AS i
		SET system_id = s.system_id, timeline = s.timeline,
			restored_to = now() - interval '1 minute', restored_at = clock_timestamp(),
			restored_seq = (SELECT max(accept_seq) FROM hooklatch.processed_events)
		FROM hooklatch.this_server() AS s`)
	require.NoError(t, err)
}

// A restored database does not show which of its rows had changed in the time that the restore
// lost. On another server, no at_most_once effect starts, and all other work continues.
func TestOnAnotherServerNoAtMostOnceEffectStarts(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"another timeline":      `timeline = timeline + 1`,
		"an earlier timeline":   `timeline = timeline - 1`,
		"another system":        `system_id = system_id + 1`,
		"a system nobody knows": `system_id = NULL`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			once := b.dispatched(t, "evt_once", ledger.AtMostOnce)
			again := b.dispatched(t, "evt_again", ledger.AtLeastOnce)
			b.elsewhere(t, change)
			claimed := b.claim(t, once, lease)
			require.Equal(t, ledger.ClaimPaused, claimed.Status)
			require.True(t, claimed.Withheld)
			require.Equal(t, ledger.EffectPending, b.effect(t, once).State)
			require.Zero(t, b.effect(t, once).Attempt)
			b.granted(t, again, lease)
		})
	}
	t.Run("no row", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		once := b.dispatched(t, "evt_once", ledger.AtMostOnce)
		_, err := b.pool.Exec(t.Context(), `DELETE FROM hooklatch.installation`)
		require.NoError(t, err)
		require.True(t, b.claim(t, once, lease).Withheld)
	})
}

// An attempt that the ledger granted on this server continues on any server. An operator decides
// about a lost attempt, on any server.
func TestOnAnotherServerWhatHasStartedIsJudgedAsEver(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mine, lost := b.dispatched(t, "evt_mine", ledger.AtMostOnce), b.dispatched(t, "evt_lost", ledger.AtMostOnce)
	claim := claimOf(mine)
	first, err := b.Ledger().Claim(t.Context(), claim)
	require.NoError(t, err)
	b.granted(t, lost, time.Nanosecond)
	b.elsewhere(t, `timeline = timeline + 1`)

	second, err := b.Ledger().Claim(t.Context(), claim)
	require.NoError(t, err)
	require.Equal(t, ledger.ClaimGranted, second.Status, "the response to the first claim was lost")
	require.Equal(t, first.Effect.Attempt, second.Effect.Attempt)
	require.Equal(t, ledger.ClaimParked, b.claim(t, lost, lease).Status)
}

// Ordered effects are checked twice, the second time with their orders locked. The second check
// withholds the first effect of the order, and the effect behind it stays blocked.
func TestOnAnotherServerAnOrderWaits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	line := b.line(t, 2, func(e *ledger.NewEffect) { e.Policy = ledger.AtMostOnce })
	b.elsewhere(t, `timeline = timeline + 1`)
	require.True(t, b.claim(t, line[0], lease).Withheld)
	require.Equal(t, ledger.ClaimBlocked, b.claim(t, line[1], lease).Status)
	b.elsewhere(t, `timeline = timeline - 1`)
	b.granted(t, line[0], lease)
}

// Effects that existed when the restore was confirmed, and effects that earlier events create
// afterwards, may have been done in the time that the restore lost. Only an operator can request
// attempts of these effects.
func TestAfterARestoreAtMostOnceIsAPersonsToOrder(t *testing.T) {
	t.Parallel()
	by := ledger.Operator{Who: "ann", Via: "test", Reason: "it was not applied"}
	b := setup(t)
	before := b.dispatched(t, "evt_before", ledger.AtMostOnce)
	again := b.dispatched(t, "evt_again", ledger.AtLeastOnce)
	undispatched := b.accepted(t, "stripe", "evt_undispatched")
	replayed := b.accepted(t, "stripe", "evt_replayed")
	b.restored(t)
	late := planned(undispatched, "evt_undispatched")
	late.Policy = ledger.AtMostOnce
	_, err := b.Dispatch(t.Context(), Dispatch{Event: undispatched, Effects: []ledger.NewEffect{late}})
	require.NoError(t, err)
	since := b.dispatched(t, "evt_since", ledger.AtMostOnce)

	for _, id := range []identity.EffectID{before, late.EffectID} {
		claimed := b.claim(t, id, lease)
		require.Equal(t, ledger.ClaimParked, claimed.Status, id)
		require.False(t, claimed.Effect.MaybeAppliedSince.IsZero(), "the effect is in doubt")
		require.Contains(t, claimed.Effect.Error, "restored")
		require.NoError(t, b.Ledger().Retry(t.Context(), id.IdempotencyKey(), by))
		b.granted(t, id, lease)
	}
	b.granted(t, since, lease)
	b.granted(t, again, lease)

	_, err = b.Dispatch(t.Context(), Dispatch{Event: replayed})
	require.NoError(t, err)
	_, err = b.Replay(t.Context(), replayed.EventRef, by, inbox.ReplayOptions{NewKeys: true})
	require.NoError(t, err)
	replayed, err = b.Event(t.Context(), replayed.EventRef)
	require.NoError(t, err)
	ordered := planned(replayed, "evt_replayed")
	ordered.Policy = ledger.AtMostOnce
	_, err = b.Dispatch(t.Context(), Dispatch{Event: replayed, Effects: []ledger.NewEffect{ordered}})
	require.NoError(t, err)
	b.granted(t, ordered.EffectID, lease)
}

// An effect may have been attempted in the time that the restore lost. The lifetime of its key at
// the receiver therefore counts from the time to which the database was restored.
func TestAfterARestoreTheLifeOfKeysBeganAtItsTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	old, young := b.dispatched(t, "evt_old", ledger.AtLeastOnce), b.dispatched(t, "evt_young", ledger.AtLeastOnce)
	b.restored(t) // to its state of a minute ago
	since := b.dispatched(t, "evt_since", ledger.AtLeastOnce)
	require.Equal(t, ledger.ClaimParked, b.claimWithTTL(t, old, 30*time.Second).Status)
	require.Equal(t, ledger.ClaimGranted, b.claimWithTTL(t, young, time.Hour).Status)
	require.Equal(t, ledger.ClaimGranted, b.claimWithTTL(t, since, 30*time.Second).Status)
}
