package outbox

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

const lease = time.Minute

func (b *bundle) settle(t testing.TB, e ledger.Effect, s ledger.Settlement) ledger.Settled {
	t.Helper()
	s.Effect = e
	settled, err := b.Ledger().Settle(t.Context(), s)
	require.NoError(t, err)
	return settled
}

func (b *bundle) effect(t testing.TB, id identity.EffectID) ledger.Effect {
	t.Helper()
	e, err := b.Ledger().Effect(t.Context(), id.IdempotencyKey())
	require.NoError(t, err)
	return e
}

// The test covers every way in which an attempt can end, with and without an earlier attempt that may
// have been applied.
func TestSettleFollowsTheStateMachine(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cases := []struct {
		name    string
		policy  ledger.Policy
		doubt   bool // an earlier attempt may have been applied
		verdict ledger.Verdict
		giveUp  bool
		want    ledger.EffectState
		applied string
	}{
		{"done", ledger.AtLeastOnce, false, ledger.VerdictDone, false, ledger.EffectDone, "yes"},
		{"done after doubt", ledger.AtLeastOnce, true, ledger.VerdictDone, false, ledger.EffectDone, "yes"},
		{"refused", ledger.AtLeastOnce, false, ledger.VerdictRefused, false, ledger.EffectFailed, "no"},
		{"refused after doubt", ledger.AtLeastOnce, true, ledger.VerdictRefused, false, ledger.EffectParked, "no"},
		{"turned away", ledger.AtLeastOnce, false, ledger.VerdictTurnedAway, false, ledger.EffectPending, "no"},
		{"turned away after doubt", ledger.AtLeastOnce, true, ledger.VerdictTurnedAway, false, ledger.EffectInDoubt, "no"},
		{"turned away, used up", ledger.AtLeastOnce, false, ledger.VerdictTurnedAway, true, ledger.EffectFailed, "no"},
		{"turned away after doubt, used up", ledger.AtLeastOnce, true, ledger.VerdictTurnedAway, true, ledger.EffectParked, "no"},
		{"not applied", ledger.AtLeastOnce, false, ledger.VerdictNotApplied, false, ledger.EffectPending, "no"},
		{"not applied after doubt", ledger.AtLeastOnce, true, ledger.VerdictNotApplied, false, ledger.EffectInDoubt, "no"},
		{"not applied, used up", ledger.AtLeastOnce, false, ledger.VerdictNotApplied, true, ledger.EffectParked, "no"},
		{"maybe applied", ledger.AtLeastOnce, false, ledger.VerdictMaybeApplied, false, ledger.EffectInDoubt, "unknown"},
		{"maybe applied again", ledger.AtLeastOnce, true, ledger.VerdictMaybeApplied, false, ledger.EffectInDoubt, "unknown"},
		{"maybe applied, used up", ledger.AtLeastOnce, false, ledger.VerdictMaybeApplied, true, ledger.EffectParked, "unknown"},
		{"at most once: done", ledger.AtMostOnce, false, ledger.VerdictDone, false, ledger.EffectDone, "yes"},
		{"at most once: refused", ledger.AtMostOnce, false, ledger.VerdictRefused, false, ledger.EffectFailed, "no"},
		{"at most once: turned away", ledger.AtMostOnce, false, ledger.VerdictTurnedAway, false, ledger.EffectPending, "no"},
		{"at most once: turned away, used up", ledger.AtMostOnce, false, ledger.VerdictTurnedAway, true, ledger.EffectFailed, "no"},
		{"at most once: not applied", ledger.AtMostOnce, false, ledger.VerdictNotApplied, false, ledger.EffectPending, "no"},
		{"at most once: maybe applied", ledger.AtMostOnce, false, ledger.VerdictMaybeApplied, false, ledger.EffectParked, "unknown"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			id := b.dispatched(t, c.name, c.policy)
			var since time.Time
			if c.doubt {
				first := b.granted(t, id, lease)
				b.settle(t, first, ledger.Settlement{Verdict: ledger.VerdictMaybeApplied, Error: "timed out"})
				since = b.effect(t, id).MaybeAppliedSince
				require.False(t, since.IsZero())
			}
			e := b.granted(t, id, lease)
			settled := b.settle(t, e, ledger.Settlement{Verdict: c.verdict, GiveUp: c.giveUp, ResponseStatus: 418, RetryIn: time.Hour, Duration: time.Second})
			require.False(t, settled.Late)
			require.Equal(t, c.want, settled.State)

			after := b.effect(t, id)
			require.Equal(t, c.want, after.State)
			require.Equal(t, 418, after.ResponseStatus)
			require.Equal(t, c.want.Finished(), !after.FinishedAt.IsZero())
			require.True(t, after.NextAttemptAt.After(time.Now().Add(30*time.Minute)))
			if c.doubt {
				require.True(t, since.Equal(after.MaybeAppliedSince), "doubt is sticky and counts from the first doubtful attempt")
			} else {
				require.Equal(t, c.applied == "unknown", !after.MaybeAppliedSince.IsZero())
			}
			if c.applied == "unknown" && !c.doubt {
				require.True(t, after.LastAttemptAt.Equal(after.MaybeAppliedSince), "the receiver counts the life of a key from the attempt, not from its end")
			}
			attempts, err := b.Ledger().Attempts(t.Context(), id)
			require.NoError(t, err)
			last := attempts[len(attempts)-1]
			require.Equal(t, e.Attempt, last.Attempt)
			require.Equal(t, c.applied, last.Applied)
			require.Equal(t, c.want, last.State)
			require.Equal(t, time.Second, last.FinishedAt.Sub(last.StartedAt).Round(time.Millisecond))
		})
	}
}

// Failed and parked effects are counted for each destination, up to a maximum.
func TestUnsuccessfulEffectsAreCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for key, verdict := range map[string]ledger.Verdict{"a": ledger.VerdictRefused, "b": ledger.VerdictTurnedAway, "c": ledger.VerdictNotApplied, "d": ledger.VerdictDone} {
		b.settle(t, b.granted(t, b.dispatched(t, key, ledger.AtLeastOnce), lease), ledger.Settlement{Verdict: verdict, GiveUp: true})
	}
	counts, err := b.fleet.Unsuccessful(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]fleet.Unsuccessful{"app": {Failed: 2, Parked: 1}}, counts)

	_, err = b.pool.Exec(t.Context(), fmt.Sprintf(`SET LOCAL session_replication_role = replica;
		INSERT INTO hooklatch.effects (scope, key, idempotency_key, destination, queue, policy, state, attempt, finished_at)
		SELECT 'x', i, 'hl_' || i, 'crm', 'q', 'at_least_once', 'failed', 1, now()
		FROM generate_series(1, %d) AS i`, fleet.MostUnsuccessful+5))
	require.NoError(t, err)
	counts, err = b.fleet.Unsuccessful(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]fleet.Unsuccessful{"app": {Failed: 2, Parked: 1}, "crm": {Failed: fleet.MostUnsuccessful}}, counts)
}

func TestClaimIsExclusiveAndRepeatable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.dispatched(t, "evt_1", ledger.AtLeastOnce)
	mine := uuid.New()
	first, err := b.Ledger().Claim(t.Context(), ledger.Claim{ID: id, ClaimID: mine, Lease: lease})
	require.NoError(t, err)
	require.Equal(t, ledger.ClaimGranted, first.Status)
	require.Equal(t, 1, first.Effect.Attempt)

	again, err := b.Ledger().Claim(t.Context(), ledger.Claim{ID: id, ClaimID: mine, Lease: lease})
	require.NoError(t, err)
	require.Equal(t, ledger.ClaimGranted, again.Status)
	require.Equal(t, 1, again.Effect.Attempt, "a repeated claim is the same attempt")

	other := b.claim(t, id, lease)
	require.Equal(t, ledger.ClaimLeased, other.Status)
	require.True(t, other.Effect.LeaseUntil.After(time.Now()))
	require.Equal(t, ledger.ClaimMissing, b.claim(t, identity.EffectID{Scope: "x", Key: "y", Generation: 1}, lease).Status)
}

func TestConcurrentClaimsGrantOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.dispatched(t, "evt_1", ledger.AtLeastOnce)
	var mu sync.Mutex
	statuses := make(map[ledger.ClaimStatus]int)
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			c, err := b.Ledger().Claim(context.Background(), ledger.Claim{ID: id, ClaimID: uuid.New(), Lease: lease})
			if err != nil {
				t.Errorf("claim: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			statuses[c.Status]++
		})
	}
	all.Wait()
	require.Equal(t, map[ledger.ClaimStatus]int{ledger.ClaimGranted: 1, ledger.ClaimLeased: 31}, statuses)
}

func TestClaimWaitsUntilDue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.dispatched(t, "evt_1", ledger.AtLeastOnce)
	b.settle(t, b.granted(t, id, lease), ledger.Settlement{Verdict: ledger.VerdictNotApplied, RetryIn: time.Hour})
	c := b.claim(t, id, lease)
	require.Equal(t, ledger.ClaimNotDue, c.Status)
	require.True(t, c.Effect.NextAttemptAt.After(time.Now()))
}

// The settlement of a worker that stalled past its lease changes nothing.
func TestLateSettlementChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.dispatched(t, "evt_1", ledger.AtLeastOnce)
	stalled := b.granted(t, id, time.Nanosecond)
	second := b.granted(t, id, lease)
	require.Equal(t, 2, second.Attempt)
	require.False(t, second.MaybeAppliedSince.IsZero(), "the lost attempt may have been applied")

	late := b.settle(t, stalled, ledger.Settlement{Verdict: ledger.VerdictRefused, ResponseStatus: 400})
	require.True(t, late.Late)
	require.Equal(t, ledger.EffectStarted, b.effect(t, id).State)

	require.False(t, b.settle(t, second, ledger.Settlement{Verdict: ledger.VerdictDone, ResponseStatus: 200}).Late)
	late = b.settle(t, stalled, ledger.Settlement{Verdict: ledger.VerdictRefused, ResponseStatus: 400})
	require.True(t, late.Late)
	require.Equal(t, ledger.EffectDone, b.effect(t, id).State)
	attempts, err := b.Ledger().Attempts(t.Context(), id)
	require.NoError(t, err)
	require.Len(t, attempts, 2)
	require.True(t, attempts[0].Lost)
	require.Equal(t, "unknown", attempts[0].Applied)
}

func TestSettlementIsIdempotent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.dispatched(t, "evt_1", ledger.AtLeastOnce)
	e := b.granted(t, id, lease)
	for range 2 { // the second is a retry after a lost COMMIT response
		s := b.settle(t, e, ledger.Settlement{Verdict: ledger.VerdictDone, ResponseStatus: 200})
		require.False(t, s.Late)
		require.Equal(t, ledger.EffectDone, s.State)
	}
}

// I8: an at_most_once effect is not started again after its worker was lost.
func TestAtMostOnceIsParkedWhenItsWorkerIsLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.dispatched(t, "evt_1", ledger.AtMostOnce)
	b.granted(t, id, time.Nanosecond)
	c := b.claim(t, id, lease)
	require.Equal(t, ledger.ClaimParked, c.Status)
	require.Equal(t, ledger.EffectParked, c.Effect.State)
	require.Equal(t, ledger.ClaimFinished, b.claim(t, id, lease).Status)
	e := b.effect(t, id)
	require.Contains(t, e.Error, "may have been applied")
	require.False(t, e.MaybeAppliedSince.IsZero())

	require.NoError(t, b.Ledger().Retry(t.Context(), id.IdempotencyKey(), ann), "an operator may request it")
	require.Equal(t, ledger.EffectInDoubt, b.effect(t, id).State)
	require.Equal(t, 2, b.granted(t, id, lease).Attempt)
}

// I7: the first claim sets the values that the destination supplies. Later claims do not change them.
func TestFirstClaimFixesTheRequest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.dispatched(t, "evt_1", ledger.AtLeastOnce)
	ask := func(url string) ledger.Effect {
		c, err := b.Ledger().Claim(t.Context(), ledger.Claim{ID: id, ClaimID: uuid.New(), Lease: lease, FirstRequest: ledger.Request{
			Method: "PUT", URL: url, Headers: map[string][]string{"X-Static": {url}, "X-Only-" + url[7:10]: {"new"}},
		}})
		require.NoError(t, err)
		require.Equal(t, ledger.ClaimGranted, c.Status)
		return c.Effect
	}
	first := ask("http://one.test/")
	require.Equal(t, "http://one.test/", first.Request.URL)
	require.Equal(t, "POST", first.Request.Method, "the route has set the method")
	b.settle(t, first, ledger.Settlement{Verdict: ledger.VerdictNotApplied})
	second := ask("http://two.test/")
	require.Equal(t, first.Request, second.Request)
}

// A late settlement returns the current state of the effect.
func TestLateSettlementSaysHowTheEffectStands(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct {
		name    string
		meddle  func(e ledger.Effect)
		becomes ledger.EffectState
	}{
		{"cancelled", func(e ledger.Effect) { require.NoError(t, b.Ledger().Cancel(t.Context(), e.IdempotencyKey, ann)) }, ledger.EffectCancelled},
		{"parked", func(e ledger.Effect) { require.NoError(t, b.Ledger().Park(t.Context(), e.IdempotencyKey, ann)) }, ledger.EffectParked},
		{"claimed by another", func(e ledger.Effect) { require.Equal(t, 2, b.granted(t, e.EffectID, lease).Attempt) }, ledger.EffectStarted},
		{"done by another", func(e ledger.Effect) {
			b.settle(t, b.granted(t, e.EffectID, lease), ledger.Settlement{Verdict: ledger.VerdictDone})
		}, ledger.EffectDone},
	} {
		late := b.granted(t, b.dispatched(t, c.name, ledger.AtLeastOnce), time.Nanosecond)
		c.meddle(late)
		settled := b.settle(t, late, ledger.Settlement{Verdict: ledger.VerdictNotApplied})
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
	effect.Request = ledger.Request{FromDelivery: true}
	_, err = b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{effect}})
	require.NoError(t, err)
	claimed := b.granted(t, effect.EffectID, lease)
	require.Equal(t, `{"id" : "b","n":1.10}`, string(claimed.Request.Body))
	require.Equal(t, "application/json", claimed.Request.ContentType)
}

func TestCancel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.dispatched(t, "evt_1", ledger.AtLeastOnce)
	running := b.granted(t, id, lease)
	require.NoError(t, b.Ledger().Cancel(t.Context(), id.IdempotencyKey(), because("not wanted")))
	require.True(t, b.settle(t, running, ledger.Settlement{Verdict: ledger.VerdictDone}).Late)
	require.Equal(t, ledger.EffectCancelled, b.effect(t, id).State)
	require.ErrorContains(t, b.Ledger().Cancel(t.Context(), id.IdempotencyKey(), because("again")), "the effect is already cancelled")
	require.ErrorIs(t, b.Ledger().Cancel(t.Context(), "hl_none", because("x")), ledger.ErrNotFound)
}

// An effect is found by its key on the wire, whatever its age. It is also found by a rotated key,
// and without the index on these keys.
func TestEffectIsFoundByItsKeyOnTheWire(t *testing.T) {
	t.Parallel()
	b := setup(t)
	young, old := b.dispatched(t, "evt_1", ledger.AtLeastOnce), b.dispatched(t, "evt_2", ledger.AtLeastOnce)
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.effects SET created_at = created_at - interval '400 days' WHERE key = 'evt_2'`)
	require.NoError(t, err)
	for range 2 {
		for _, id := range []identity.EffectID{young, old} {
			for _, key := range []string{id.IdempotencyKey(), id.IdempotencyKey() + "_3"} {
				e, err := b.Ledger().Effect(t.Context(), key)
				require.NoError(t, err)
				require.Equal(t, id, e.EffectID)
			}
		}
		_, err = b.Ledger().Effect(t.Context(), "hl_none")
		require.ErrorIs(t, err, ledger.ErrNotFound)
		_, err := b.pool.Exec(t.Context(), `DROP INDEX IF EXISTS hooklatch.effects_wire_key`)
		require.NoError(t, err)
	}
	require.NoError(t, b.Ledger().Cancel(t.Context(), old.IdempotencyKey(), because("not wanted")))
}
