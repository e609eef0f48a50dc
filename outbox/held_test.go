package outbox

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/fault"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// hold stores two events with the same proof. The replay guard holds the second event, which hold
// returns.
func (b *bundle) hold(t *testing.T, id string) identity.EventRef {
	t.Helper()
	for _, d := range []Delivery{signed("sig-1", ReplayHold, "first"), signed("sig-1", ReplayHold, id)} {
		_, err := b.Accept(t.Context(), d)
		require.NoError(t, err)
	}
	return identity.EventRef{Source: "github", EventID: identity.EventID(id)}
}

// Only an operator changes a held event. A dispatch, the reconciler and a replay of all events
// leave it unchanged.
func TestHeldEventsAreLeftAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ref := b.hold(t, "fresh")
	held, err := b.Event(t.Context(), ref)
	require.NoError(t, err)

	done, err := b.Dispatch(t.Context(), Dispatch{Event: held})
	require.NoError(t, err)
	require.False(t, done.Fenced, "a stray job does nothing")
	_, err = b.pool.Exec(t.Context(), `DELETE FROM hooklatch.river_job`)
	require.NoError(t, err)
	healed, err := b.reconcile(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, 1, healed.Events, "only the event that is not held gets a job")

	_, err = b.Replay(t.Context(), ref, ann, inbox.ReplayOptions{})
	require.ErrorIs(t, err, inbox.ErrNotReplayable)
	require.ErrorContains(t, err, "a replay guard holds it until it is released or dropped")
	r := b.runsOf(t)
	all, err := r.Begin(t.Context(), runs.Order{Action: ledger.ActionReplayEvent, Events: find.Events{Source: "github"}}, ann)
	require.NoError(t, err)
	require.Zero(t, b.workOff(t, r, all.ID, nil).Counts)
	held, err = b.Event(t.Context(), ref)
	require.NoError(t, err)
	require.Equal(t, inbox.Held, held.Outcome)
	require.Equal(t, 1, held.Generation)

	require.NoError(t, b.Drop(t.Context(), ref, ann))
	_, err = b.Replay(t.Context(), ref, ann, inbox.ReplayOptions{})
	require.ErrorContains(t, err, "it can still be released")
	require.NoError(t, b.Release(t.Context(), ref, ann))
	require.ErrorIs(t, b.Release(t.Context(), ref, ann), inbox.ErrNotHeld)
	released, err := b.Event(t.Context(), ref)
	require.NoError(t, err)
	require.Equal(t, inbox.Received, released.Outcome)
	require.Empty(t, released.Error)
	require.Equal(t, 2, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind <> 'upkeep.run'`))
	done, err = b.Dispatch(t.Context(), Dispatch{Event: released})
	require.NoError(t, err)
	require.True(t, done.Fenced)
}

// A decision is recorded once, even if its COMMIT or the COMMIT response is lost.
func TestDecisionsSurviveALostCommit(t *testing.T) {
	t.Parallel()
	for _, mode := range []fault.Mode{fault.LoseAnswer, fault.LoseRequest} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b, sound, f := onFaultyPool(t)
			ref := sound.hold(t, "fresh")
			f.Arm(mode, 1)
			require.NoError(t, b.Drop(t.Context(), ref, ann))
			f.Arm(mode, 1)
			require.NoError(t, b.Release(t.Context(), ref, ann))
			require.Equal(t, 2, sound.count(t, `SELECT count(*) FROM hooklatch.operator_log`))
			require.Equal(t, 2, sound.count(t, `SELECT count(*) FROM hooklatch.river_job`))
		})
	}
}

// An event that was already dispatched can be replayed, but not released.
func TestReleaseIsForHeldEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.dispatched(t, "evt_1", ledger.AtLeastOnce)
	ref := identity.EventRef{Source: "stripe", EventID: "evt_1"}
	require.ErrorIs(t, b.Release(t.Context(), ref, ann), inbox.ErrNotHeld)
	require.ErrorIs(t, b.Drop(t.Context(), ref, ann), inbox.ErrNotHeld)
	e, err := b.Event(t.Context(), ref)
	require.NoError(t, err)
	require.Equal(t, inbox.Dispatched, e.Outcome)
	require.Equal(t, ledger.EffectPending, b.effect(t, id).State)
}
