package outbox

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// late dispatches an effect whose request the first attempt renders, and returns the effect's id.
func (b *bundle) late(t *testing.T, key string, policy ledger.Policy) identity.EffectID {
	t.Helper()
	e := b.accepted(t, "stripe", key)
	effect := planned(e, key)
	effect.Policy = policy
	effect.Request = ledger.Request{Method: "PUT", Late: true}
	_, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{effect}})
	require.NoError(t, err)
	return effect.EffectID
}

func TestFixRequestHoldsForEveryAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.late(t, "evt_1", ledger.AtLeastOnce)
	first := b.granted(t, id, lease)
	require.True(t, first.Request.Late)
	require.False(t, first.Request.FromDelivery)
	require.Nil(t, first.Request.Body)
	rendered := ledger.Request{URL: "http://app.test/", Headers: map[string][]string{"X-A": {"b"}}, ContentType: "text/plain", Body: []byte("as it is now")}
	fixed, err := b.Ledger().FixRequest(t.Context(), first, rendered)
	require.NoError(t, err)
	require.Equal(t, "PUT", fixed.Request.Method, "the plan has set the method")
	require.Equal(t, rendered.Body, fixed.Request.Body)
	require.False(t, fixed.Request.Late)
	other := rendered
	other.Body = []byte("changed meanwhile")
	again, err := b.Ledger().FixRequest(t.Context(), first, other)
	require.NoError(t, err)
	require.Equal(t, fixed.Request, again.Request, "the first rendered request stays")
	b.settle(t, fixed, ledger.Settlement{Verdict: ledger.VerdictMaybeApplied})
	require.Equal(t, fixed.Request, b.granted(t, id, lease).Request)
}

// A worker that dies before it stores the rendered request has not called the receiver.
func TestNothingIsInDoubtBeforeTheRequestIsFixed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.late(t, "evt_1", ledger.AtMostOnce)
	stalled := b.granted(t, id, time.Nanosecond)
	second := b.granted(t, id, lease)
	require.Equal(t, 2, second.Attempt)
	require.True(t, second.MaybeAppliedSince.IsZero())
	_, err := b.Ledger().FixRequest(t.Context(), stalled, ledger.Request{Body: []byte("x")})
	require.ErrorIs(t, err, ledger.ErrLate)
	attempts, err := b.Ledger().Attempts(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "no", attempts[0].Applied)

	id = b.late(t, "evt_2", ledger.AtMostOnce)
	fixed, err := b.Ledger().FixRequest(t.Context(), b.granted(t, id, time.Nanosecond), ledger.Request{Body: []byte("x")})
	require.NoError(t, err)
	require.Equal(t, []byte("x"), fixed.Request.Body)
	require.Equal(t, ledger.ClaimParked, b.claim(t, id, lease).Status)
}

// An effect whose template fails on the event is parked, and no other effect waits for it. After
// the template is repaired, a replay of the event renders the effect.
func TestUnrenderableEffectIsParked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.accepted(t, "stripe", "evt_1")
	broken := ordered(e, "customer")
	broken.Parked, broken.Request = "template: no such field\x00", ledger.Request{}
	d, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{broken}})
	require.NoError(t, err)
	require.Len(t, d.Created, 1)
	stored := b.effect(t, broken.EffectID)
	require.Equal(t, ledger.EffectParked, stored.State)
	require.Equal(t, "template: no such field\uFFFD", stored.Error)
	require.Zero(t, b.jobs(t, broken.EffectID))

	behind := b.accepted(t, "stripe", "evt_2")
	_, err = b.Dispatch(t.Context(), Dispatch{Event: behind, Effects: []ledger.NewEffect{ordered(behind, "customer")}})
	require.NoError(t, err)
	b.settle(t, b.granted(t, ordered(behind, "customer").EffectID, lease), ledger.Settlement{Verdict: ledger.VerdictDone})

	require.ErrorContains(t, b.Ledger().Retry(t.Context(), broken.IdempotencyKey(), ann), "could not be rendered: replay its event", "an effect without a request cannot be sent")
	replayed, err := b.Replay(t.Context(), e.EventRef, ann, inbox.ReplayOptions{})
	require.NoError(t, err)
	require.Zero(t, replayed.Reopened)
	e, err = b.Event(t.Context(), e.EventRef)
	require.NoError(t, err)
	d, err = b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{ordered(e, "customer")}})
	require.NoError(t, err)
	require.Len(t, d.Created, 1)
	require.Equal(t, 1, b.jobs(t, broken.EffectID))
	repaired := b.granted(t, broken.EffectID, lease)
	require.Equal(t, planned(e, "x").Request.Body, repaired.Request.Body)
	require.False(t, repaired.Request.FromDelivery)
	require.Empty(t, repaired.Error)
}
