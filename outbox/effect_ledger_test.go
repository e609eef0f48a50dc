package outbox

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

const lease = time.Minute

func (b *bundle) settle(t testing.TB, e Effect, s Settlement) Settled {
	t.Helper()
	s.Effect = e
	settled, err := b.Settle(t.Context(), s)
	require.NoError(t, err)
	return settled
}

func (b *bundle) effect(t testing.TB, id identity.EffectID) Effect {
	t.Helper()
	e, err := b.Effect(t.Context(), id.IdempotencyKey())
	require.NoError(t, err)
	return e
}

// Every way an attempt can end, from both kinds of beginning.
func TestSettleFollowsTheStateMachine(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cases := []struct {
		name    string
		policy  Policy
		doubt   bool // an earlier attempt may have been applied
		verdict Verdict
		giveUp  bool
		want    EffectState
		applied string
	}{
		{"done", AtLeastOnce, false, VerdictDone, false, EffectDone, "yes"},
		{"done after doubt", AtLeastOnce, true, VerdictDone, false, EffectDone, "yes"},
		{"refused", AtLeastOnce, false, VerdictRefused, false, EffectFailed, "no"},
		{"refused after doubt", AtLeastOnce, true, VerdictRefused, false, EffectParked, "no"},
		{"turned away", AtLeastOnce, false, VerdictTurnedAway, false, EffectPending, "no"},
		{"turned away after doubt", AtLeastOnce, true, VerdictTurnedAway, false, EffectInDoubt, "no"},
		{"turned away, used up", AtLeastOnce, false, VerdictTurnedAway, true, EffectFailed, "no"},
		{"turned away after doubt, used up", AtLeastOnce, true, VerdictTurnedAway, true, EffectParked, "no"},
		{"not applied", AtLeastOnce, false, VerdictNotApplied, false, EffectPending, "no"},
		{"not applied after doubt", AtLeastOnce, true, VerdictNotApplied, false, EffectInDoubt, "no"},
		{"not applied, used up", AtLeastOnce, false, VerdictNotApplied, true, EffectParked, "no"},
		{"maybe applied", AtLeastOnce, false, VerdictMaybeApplied, false, EffectInDoubt, "unknown"},
		{"maybe applied again", AtLeastOnce, true, VerdictMaybeApplied, false, EffectInDoubt, "unknown"},
		{"maybe applied, used up", AtLeastOnce, false, VerdictMaybeApplied, true, EffectParked, "unknown"},
		{"at most once: done", AtMostOnce, false, VerdictDone, false, EffectDone, "yes"},
		{"at most once: refused", AtMostOnce, false, VerdictRefused, false, EffectFailed, "no"},
		{"at most once: turned away", AtMostOnce, false, VerdictTurnedAway, false, EffectPending, "no"},
		{"at most once: turned away, used up", AtMostOnce, false, VerdictTurnedAway, true, EffectFailed, "no"},
		{"at most once: not applied", AtMostOnce, false, VerdictNotApplied, false, EffectPending, "no"},
		{"at most once: maybe applied", AtMostOnce, false, VerdictMaybeApplied, false, EffectParked, "unknown"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			id := b.dispatched(t, c.name, c.policy)
			var since time.Time
			if c.doubt {
				first := b.granted(t, id, lease)
				b.settle(t, first, Settlement{Verdict: VerdictMaybeApplied, Error: "timed out"})
				since = b.effect(t, id).MaybeAppliedSince
				require.False(t, since.IsZero())
			}
			e := b.granted(t, id, lease)
			settled := b.settle(t, e, Settlement{Verdict: c.verdict, GiveUp: c.giveUp, ResponseStatus: 418, RetryIn: time.Hour, Duration: time.Second})
			require.False(t, settled.Late)
			require.Equal(t, c.want, settled.State)

			after := b.effect(t, id)
			require.Equal(t, c.want, after.State)
			require.Equal(t, 418, after.ResponseStatus)
			require.Equal(t, c.want.Finished(), !after.FinishedAt.IsZero())
			require.True(t, after.NextAttemptAt.After(time.Now().Add(30*time.Minute)))
			if c.doubt {
				require.True(t, since.Equal(after.MaybeAppliedSince), "doubt is sticky and counts from the first")
			} else {
				require.Equal(t, c.applied == "unknown", !after.MaybeAppliedSince.IsZero())
			}
			attempts, err := b.Attempts(t.Context(), id)
			require.NoError(t, err)
			last := attempts[len(attempts)-1]
			require.Equal(t, e.Attempt, last.Attempt)
			require.Equal(t, c.applied, last.Applied)
			require.Equal(t, c.want, last.State)
			require.Equal(t, time.Second, last.FinishedAt.Sub(last.StartedAt).Round(time.Millisecond))
		})
	}
}

// Failed is counted as parked is.
func TestUnsuccessfulEffectsAreCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for key, verdict := range map[string]Verdict{"a": VerdictRefused, "b": VerdictTurnedAway, "c": VerdictNotApplied, "d": VerdictDone} {
		b.settle(t, b.granted(t, b.dispatched(t, key, AtLeastOnce), lease), Settlement{Verdict: verdict, GiveUp: true})
	}
	counts, err := b.Unsuccessful(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]Unsuccessful{"app": {Failed: 2, Parked: 1}}, counts)
}

func TestClaimIsExclusiveAndRepeatable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.dispatched(t, "evt_1", AtLeastOnce)
	mine := uuid.New()
	first, err := b.Claim(t.Context(), Claim{ID: id, ClaimID: mine, Lease: lease})
	require.NoError(t, err)
	require.Equal(t, ClaimGranted, first.Status)
	require.Equal(t, 1, first.Effect.Attempt)

	again, err := b.Claim(t.Context(), Claim{ID: id, ClaimID: mine, Lease: lease})
	require.NoError(t, err)
	require.Equal(t, ClaimGranted, again.Status)
	require.Equal(t, 1, again.Effect.Attempt, "a repeated claim is the same attempt")

	other := b.claim(t, id, lease)
	require.Equal(t, ClaimLeased, other.Status)
	require.True(t, other.Effect.LeaseUntil.After(time.Now()))
	require.Equal(t, ClaimMissing, b.claim(t, identity.EffectID{Scope: "x", Key: "y", Generation: 1}, lease).Status)
}

func TestConcurrentClaimsGrantOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.dispatched(t, "evt_1", AtLeastOnce)
	var mu sync.Mutex
	statuses := make(map[ClaimStatus]int)
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			c, err := b.Claim(context.Background(), Claim{ID: id, ClaimID: uuid.New(), Lease: lease})
			if err != nil {
				t.Errorf("claim: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			statuses[c.Status]++
		})
	}
	all.Wait()
	require.Equal(t, map[ClaimStatus]int{ClaimGranted: 1, ClaimLeased: 31}, statuses)
}

func TestClaimWaitsUntilDue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.dispatched(t, "evt_1", AtLeastOnce)
	b.settle(t, b.granted(t, id, lease), Settlement{Verdict: VerdictNotApplied, RetryIn: time.Hour})
	c := b.claim(t, id, lease)
	require.Equal(t, ClaimNotDue, c.Status)
	require.True(t, c.Effect.NextAttemptAt.After(time.Now()))
}

// A worker that stalled past its lease: its settlement changes nothing.
func TestLateSettlementChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.dispatched(t, "evt_1", AtLeastOnce)
	stalled := b.granted(t, id, time.Nanosecond)
	second := b.granted(t, id, lease)
	require.Equal(t, 2, second.Attempt)
	require.False(t, second.MaybeAppliedSince.IsZero(), "the lost attempt may have been applied")

	late := b.settle(t, stalled, Settlement{Verdict: VerdictRefused, ResponseStatus: 400})
	require.True(t, late.Late)
	require.Equal(t, EffectStarted, b.effect(t, id).State)

	require.False(t, b.settle(t, second, Settlement{Verdict: VerdictDone, ResponseStatus: 200}).Late)
	late = b.settle(t, stalled, Settlement{Verdict: VerdictRefused, ResponseStatus: 400})
	require.True(t, late.Late)
	require.Equal(t, EffectDone, b.effect(t, id).State)
	attempts, err := b.Attempts(t.Context(), id)
	require.NoError(t, err)
	require.Len(t, attempts, 2)
	require.True(t, attempts[0].Lost)
	require.Equal(t, "unknown", attempts[0].Applied)
}

func TestSettlementIsIdempotent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.dispatched(t, "evt_1", AtLeastOnce)
	e := b.granted(t, id, lease)
	for range 2 { // the second stands for a retry after a lost COMMIT answer
		s := b.settle(t, e, Settlement{Verdict: VerdictDone, ResponseStatus: 200})
		require.False(t, s.Late)
		require.Equal(t, EffectDone, s.State)
	}
}

// I8: nobody starts it again.
func TestAtMostOnceIsParkedWhenItsWorkerIsLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.dispatched(t, "evt_1", AtMostOnce)
	b.granted(t, id, time.Nanosecond)
	c := b.claim(t, id, lease)
	require.Equal(t, ClaimParked, c.Status)
	require.Equal(t, EffectParked, c.Effect.State)
	require.Equal(t, ClaimFinished, b.claim(t, id, lease).Status)
	e := b.effect(t, id)
	require.Contains(t, e.Error, "may have been applied")
	require.False(t, e.MaybeAppliedSince.IsZero())

	require.NoError(t, b.Retry(t.Context(), id.IdempotencyKey(), ann), "a person may order it")
	require.Equal(t, EffectInDoubt, b.effect(t, id).State)
	require.Equal(t, 2, b.granted(t, id, lease).Attempt)
}

// I7: the first claim fixes what the destination decides.
func TestFirstClaimFixesTheRequest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.dispatched(t, "evt_1", AtLeastOnce)
	ask := func(url string) Effect {
		c, err := b.Claim(t.Context(), Claim{ID: id, ClaimID: uuid.New(), Lease: lease, FirstRequest: Request{
			Method: "PUT", URL: url, Headers: map[string][]string{"X-Static": {url}, "X-Only-" + url[7:10]: {"new"}},
		}})
		require.NoError(t, err)
		require.Equal(t, ClaimGranted, c.Status)
		return c.Effect
	}
	first := ask("http://one.test/")
	require.Equal(t, "http://one.test/", first.Request.URL)
	require.Equal(t, "POST", first.Request.Method, "the route had decided it")
	b.settle(t, first, Settlement{Verdict: VerdictNotApplied})
	second := ask("http://two.test/")
	require.Equal(t, first.Request, second.Request)
}

// An attempt that comes to its end too late is told how the effect stands.
func TestLateSettlementSaysHowTheEffectStands(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct {
		name    string
		meddle  func(e Effect)
		becomes EffectState
	}{
		{"cancelled", func(e Effect) { require.NoError(t, b.Cancel(t.Context(), e.IdempotencyKey, ann)) }, EffectCancelled},
		{"parked", func(e Effect) { require.NoError(t, b.Park(t.Context(), e.IdempotencyKey, ann)) }, EffectParked},
		{"claimed by another", func(e Effect) { require.Equal(t, 2, b.granted(t, e.EffectID, lease).Attempt) }, EffectStarted},
		{"done by another", func(e Effect) {
			b.settle(t, b.granted(t, e.EffectID, lease), Settlement{Verdict: VerdictDone})
		}, EffectDone},
	} {
		late := b.granted(t, b.dispatched(t, c.name, AtLeastOnce), time.Nanosecond)
		c.meddle(late)
		settled := b.settle(t, late, Settlement{Verdict: VerdictNotApplied})
		require.True(t, settled.Late, c.name)
		require.Equal(t, c.becomes, settled.State, c.name)
		require.Equal(t, c.becomes, b.effect(t, late.EffectID).State, c.name)
	}
}

func TestClaimLoadsTheDeliveryOfAForward(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := delivery("line")
	d.Body = []byte(`{"events":[{"id":"a"},{"id" : "b","n":1.10}]}`)
	d.Events = []Incoming{{ID: "a", Type: "x", Item: "/events/0"}, {ID: "b", Type: "x", Item: "/events/1"}}
	_, err := b.Accept(t.Context(), d)
	require.NoError(t, err)
	e, err := b.Event(t.Context(), identity.EventRef{Source: "line", EventID: "b"})
	require.NoError(t, err)
	effect := planned(e, "b")
	effect.Request = Request{FromDelivery: true}
	_, err = b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []NewEffect{effect}})
	require.NoError(t, err)
	claimed := b.granted(t, effect.EffectID, lease)
	require.Equal(t, `{"id" : "b","n":1.10}`, string(claimed.Request.Body))
	require.Equal(t, "application/json", claimed.Request.ContentType)
}

func TestCancel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.dispatched(t, "evt_1", AtLeastOnce)
	running := b.granted(t, id, lease)
	require.NoError(t, b.Cancel(t.Context(), id.IdempotencyKey(), because("not wanted")))
	require.True(t, b.settle(t, running, Settlement{Verdict: VerdictDone}).Late)
	require.Equal(t, EffectCancelled, b.effect(t, id).State)
	require.ErrorContains(t, b.Cancel(t.Context(), id.IdempotencyKey(), because("again")), "the effect is cancelled already")
	require.ErrorIs(t, b.Cancel(t.Context(), "hl_none", because("x")), ErrNotFound)
}
