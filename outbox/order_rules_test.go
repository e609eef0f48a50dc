package outbox

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// line dispatches n effects of one order and returns their ids, in acceptance order.
func (b *bundle) line(t *testing.T, n int, change func(*ledger.NewEffect)) []identity.EffectID {
	t.Helper()
	var ids []identity.EffectID
	for i := range n {
		e := b.accepted(t, "stripe", fmt.Sprintf("evt_%d", i))
		effect := ordered(e, "customer")
		if change != nil {
			change(&effect)
		}
		_, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{effect}})
		require.NoError(t, err)
		ids = append(ids, effect.EffectID)
	}
	return ids
}

// jobs returns the number of stored jobs of an effect, in whatever state.
func (b *bundle) jobs(t testing.TB, id identity.EffectID) int {
	t.Helper()
	return b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect' AND args ->> 'key' = $1 AND args ->> 'scope' = $2`, id.Key, id.Scope)
}

func TestOnlyTheHeadHasAJob(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.line(t, 3, nil)
	require.Equal(t, []int{1, 0, 0}, []int{b.jobs(t, ids[0]), b.jobs(t, ids[1]), b.jobs(t, ids[2])})
	blocked := b.claim(t, ids[1], lease)
	require.Equal(t, ledger.ClaimBlocked, blocked.Status)
	require.True(t, blocked.Woken)
	require.Equal(t, ledger.EffectPending, b.effect(t, ids[1]).State)

	b.settle(t, b.granted(t, ids[0], lease), ledger.Settlement{Verdict: ledger.VerdictNotApplied})
	require.Equal(t, 1, b.jobs(t, ids[0]), "its job continues")
	require.Zero(t, b.jobs(t, ids[1]), "the head is tried again")
	b.settle(t, b.granted(t, ids[0], lease), ledger.Settlement{Verdict: ledger.VerdictDone})
	require.Equal(t, []int{1, 1, 0}, []int{b.jobs(t, ids[0]), b.jobs(t, ids[1]), b.jobs(t, ids[2])})
	b.settle(t, b.granted(t, ids[1], lease), ledger.Settlement{Verdict: ledger.VerdictRefused})
	require.Equal(t, 1, b.jobs(t, ids[2]), "a failed effect blocks nothing")
}

func TestParkedHeadBlocksItsOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.line(t, 3, nil)
	b.settle(t, b.granted(t, ids[0], lease), ledger.Settlement{Verdict: ledger.VerdictNotApplied, GiveUp: true, Error: "no answer"})
	require.Equal(t, ledger.ClaimBlocked, b.claim(t, ids[1], lease).Status)
	require.Zero(t, b.jobs(t, ids[1]))

	require.NoError(t, b.Ledger().Retry(t.Context(), ids[0].IdempotencyKey(), ann))
	require.Equal(t, 2, b.jobs(t, ids[0]))
	require.NoError(t, b.Ledger().Cancel(t.Context(), ids[0].IdempotencyKey(), because("given up")))
	require.Equal(t, 1, b.jobs(t, ids[1]))
	// An effect that is not the head leaves its order without waking another effect.
	require.NoError(t, b.Ledger().Cancel(t.Context(), ids[2].IdempotencyKey(), because("given up")))
	require.Equal(t, 1, b.jobs(t, ids[1]))
	b.granted(t, ids[1], lease)
}

func TestOnParkSkip(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.line(t, 3, func(e *ledger.NewEffect) { e.OnPark = ledger.OnParkSkip })
	require.NoError(t, b.Ledger().Park(t.Context(), ids[0].IdempotencyKey(), because("later")))
	require.Equal(t, 1, b.jobs(t, ids[1]))
	second := b.granted(t, ids[1], lease)

	// The reopened effect waits for the running effect, and precedes the others.
	require.NoError(t, b.Ledger().Retry(t.Context(), ids[0].IdempotencyKey(), ann))
	c := b.claim(t, ids[0], lease)
	require.Equal(t, ledger.ClaimBlocked, c.Status)
	require.False(t, c.Woken, "no other transaction wakes the effect, so its job snoozes")
	require.Equal(t, ledger.ClaimBlocked, b.claim(t, ids[2], lease).Status)
	b.settle(t, second, ledger.Settlement{Verdict: ledger.VerdictDone})
	require.Zero(t, b.jobs(t, ids[2]))
	b.settle(t, b.granted(t, ids[0], lease), ledger.Settlement{Verdict: ledger.VerdictDone})
	require.Equal(t, 1, b.jobs(t, ids[2]))
}

func TestOrderWaitsForEarlierEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, second := b.accepted(t, "stripe", "evt_1"), b.accepted(t, "stripe", "evt_2")
	other := b.accepted(t, "github", "evt_0")
	effect := ordered(second, "customer")
	_, err := b.Dispatch(t.Context(), Dispatch{Event: second, Effects: []ledger.NewEffect{effect}})
	require.NoError(t, err)
	c := b.claim(t, effect.EffectID, lease)
	require.Equal(t, ledger.ClaimBlocked, c.Status)
	require.False(t, c.Woken)
	_, err = b.Dispatch(t.Context(), Dispatch{Event: first})
	require.NoError(t, err)
	b.granted(t, effect.EffectID, lease) // undispatched events of other sources do not matter
	require.Equal(t, inbox.Received, other.Outcome)
}

// A worker dies while it attempts the head. No effect overtakes the head.
func TestLostHeadKeepsItsPlace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.line(t, 2, nil)
	stalled := b.granted(t, ids[0], time.Nanosecond)
	require.Equal(t, ledger.ClaimBlocked, b.claim(t, ids[1], lease).Status)
	again := b.granted(t, ids[0], lease)
	require.Equal(t, 2, again.Attempt)
	require.True(t, b.settle(t, stalled, ledger.Settlement{Verdict: ledger.VerdictDone}).Late)
	require.Zero(t, b.jobs(t, ids[1]), "a late settlement wakes no effect")
	b.settle(t, again, ledger.Settlement{Verdict: ledger.VerdictDone})
	require.Equal(t, 1, b.jobs(t, ids[1]))
}

// A claim that parks its effect under on_park skip wakes the next effect.
func TestLostAtMostOnceHeadIsSkipped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.line(t, 2, func(e *ledger.NewEffect) { e.Policy, e.OnPark = ledger.AtMostOnce, ledger.OnParkSkip })
	b.granted(t, ids[0], time.Nanosecond)
	require.Equal(t, ledger.ClaimParked, b.claim(t, ids[0], lease).Status)
	require.Equal(t, 1, b.jobs(t, ids[1]))
}

// Reconcile inserts a job only for the head of an order.
func TestReconcileKnowsOrders(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.line(t, 3, nil)
	_, err := b.pool.Exec(t.Context(), `DELETE FROM hooklatch.river_job WHERE kind = 'effect'`)
	require.NoError(t, err)
	done, err := b.reconcile(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, 1, done.Effects)
	require.Equal(t, 1, b.jobs(t, ids[0]))
	require.NoError(t, b.Ledger().Park(t.Context(), ids[0].IdempotencyKey(), because("blocks")))
	_, err = b.pool.Exec(t.Context(), `DELETE FROM hooklatch.river_job WHERE kind = 'effect'`)
	require.NoError(t, err)
	done, err = b.reconcile(t.Context(), 0)
	require.NoError(t, err)
	require.Zero(t, done.Effects)
}

// Effects leave their order while new effects arrive. Whichever transaction commits first, the
// order continues.
func TestConcurrentChangesNeverWedgeAnOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for round := range 20 {
		var ids []identity.EffectID
		var events []*inbox.Event
		for i := range 5 {
			e := b.accepted(t, "stripe", fmt.Sprintf("evt_%d_%d", round, i))
			events = append(events, e)
			ids = append(ids, ordered(e, fmt.Sprint("customer ", round)).EffectID)
		}
		plan := func(i int) Dispatch {
			return Dispatch{Event: events[i], Effects: []ledger.NewEffect{ordered(events[i], fmt.Sprint("customer ", round))}}
		}
		for i := range 3 {
			_, err := b.Dispatch(t.Context(), plan(i))
			require.NoError(t, err)
		}
		running := b.granted(t, ids[0], lease)
		var all sync.WaitGroup
		for _, change := range []func(ctx context.Context) error{
			func(ctx context.Context) error {
				_, err := b.Ledger().Settle(ctx, ledger.Settlement{Effect: running, Verdict: ledger.VerdictDone})
				return err
			},
			func(ctx context.Context) error { return b.Ledger().Cancel(ctx, ids[1].IdempotencyKey(), because("no")) },
			func(ctx context.Context) error { return b.Ledger().Cancel(ctx, ids[2].IdempotencyKey(), because("no")) },
			func(ctx context.Context) error { _, err := b.Dispatch(ctx, plan(3)); return err },
			func(ctx context.Context) error {
				return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
					_, err := b.DispatchTx(ctx, tx, plan(4), nil)
					return err
				})
			},
		} {
			all.Go(func() {
				if err := change(context.Background()); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		all.Wait()
		require.NotZero(t, b.jobs(t, ids[3]), "round %d: the head has no job", round)
		b.settle(t, b.granted(t, ids[3], lease), ledger.Settlement{Verdict: ledger.VerdictDone})
		require.NotZero(t, b.jobs(t, ids[4]), "round %d: the head has no job", round)
		b.settle(t, b.granted(t, ids[4], lease), ledger.Settlement{Verdict: ledger.VerdictDone})
	}
}

// Two processes claim two effects of one order simultaneously. Exactly one claim is granted.
func TestConcurrentClaimsOfAnOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := onPool(t, b.pool)
	for round := range 10 {
		ids := []identity.EffectID{}
		var plans []Dispatch
		for i := range 2 {
			e := b.accepted(t, "stripe", fmt.Sprintf("evt_%d_%d", round, i))
			effect := ordered(e, fmt.Sprint("customer ", round))
			ids, plans = append(ids, effect.EffectID), append(plans, Dispatch{Event: e, Effects: []ledger.NewEffect{effect}})
		}
		_, err := b.Dispatch(t.Context(), plans[1])
		require.NoError(t, err)
		var all sync.WaitGroup
		granted := make([]ledger.Claimed, 2)
		all.Go(func() {
			if _, err := b.Dispatch(context.Background(), plans[0]); err != nil {
				t.Errorf("dispatch: %v", err)
			}
			granted[0] = b.claim(t, ids[0], lease)
		})
		all.Go(func() { granted[1] = other.claim(t, ids[1], lease) })
		all.Wait()
		n := 0
		for _, c := range granted {
			if c.Status == ledger.ClaimGranted {
				n++
			}
		}
		require.Equal(t, 1, n, "round %d: %s and %s", round, granted[0].Status, granted[1].Status)
	}
}

func TestEnqueuedEffectsInOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.fleet.RegisterDestinations(t.Context(), []fleet.Destination{{Name: "app", Kind: "http", Queue: "dst_app"}}))
	var ids []identity.EffectID
	for _, key := range []string{"z", "a"} {
		require.NoError(t, pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
			created, err := b.EnqueueTx(t.Context(), tx, Enqueue{Key: identity.Key(key), Destination: "app", OrderKey: "user"})
			require.True(t, created)
			return err
		}))
		ids = append(ids, identity.EffectID{Scope: identity.ScopeOfEnqueue("app"), Key: identity.Key(key), Generation: 1})
	}
	require.Equal(t, ledger.ClaimBlocked, b.claim(t, ids[1], lease).Status)
	b.settle(t, b.granted(t, ids[0], lease), ledger.Settlement{Verdict: ledger.VerdictDone})
	b.granted(t, ids[1], lease)
}

func TestWrongOrdersAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.accepted(t, "stripe", "evt_1")
	for name, change := range map[string]func(*ledger.NewEffect){
		"on_park":       func(n *ledger.NewEffect) { n.OnPark = "wait" },
		"two orders":    func(n *ledger.NewEffect) { n.OrderKey, n.LatestKey = "a", "b" },
		"NUL":           func(n *ledger.NewEffect) { n.OrderKey = "a\x00" },
		"late delivery": func(n *ledger.NewEffect) { n.Request = ledger.Request{Late: true, FromDelivery: true} },
	} {
		effect := planned(e, "k")
		change(&effect)
		_, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{effect}})
		require.Error(t, err, name)
	}
}
