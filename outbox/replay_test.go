package outbox

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

func TestReplayResumesTheOldEffect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.dispatched(t, "evt_1", ledger.AtLeastOnce)
	b.settle(t, b.granted(t, id, lease), ledger.Settlement{Verdict: ledger.VerdictRefused, ResponseStatus: 400})
	ref := identity.EventRef{Source: "stripe", EventID: "evt_1"}

	r, err := b.Replay(t.Context(), ref, ledger.Operator{Who: "ada", Via: "test"}, inbox.ReplayOptions{})
	require.NoError(t, err)
	require.Equal(t, inbox.Replayed{Generation: 2, Reopened: 1}, r)
	_, err = b.Replay(t.Context(), ref, ann, inbox.ReplayOptions{})
	require.ErrorIs(t, err, inbox.ErrNotReplayable)

	e, err := b.Event(t.Context(), ref)
	require.NoError(t, err)
	require.Equal(t, inbox.Received, e.Outcome)
	d, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{planned(e, "evt_1")}})
	require.NoError(t, err)
	require.Equal(t, []identity.EffectID{id}, d.Suppressed, "same key, same effect")
	require.Equal(t, 2, b.granted(t, id, lease).Attempt)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.event_replays WHERE generation = 2 AND requested_by = 'ada' AND NOT new_keys`))
}

func TestReplayWithNewKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.dispatched(t, "evt_1", ledger.AtLeastOnce)
	b.settle(t, b.granted(t, id, lease), ledger.Settlement{Verdict: ledger.VerdictDone})
	ref := identity.EventRef{Source: "stripe", EventID: "evt_1"}
	_, err := b.Replay(t.Context(), ref, ann, inbox.ReplayOptions{NewKeys: true})
	require.NoError(t, err)
	e, err := b.Event(t.Context(), ref)
	require.NoError(t, err)
	d, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{planned(e, "evt_1")}})
	require.NoError(t, err)
	require.Len(t, d.Created, 1)
	require.NotEqual(t, id.IdempotencyKey(), d.Created[0].IdempotencyKey())
}

// A replay under new keys replaces an effect that failed. A later replay under the old keys leaves
// the replaced effect unchanged: its receiver would apply the work twice.
func TestReplayLeavesWhatAnotherReplaced(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ref := identity.EventRef{Source: "stripe", EventID: "evt_1"}
	replay := func(opts inbox.ReplayOptions) (inbox.Replayed, Dispatched) {
		t.Helper()
		r, err := b.Replay(t.Context(), ref, ann, opts)
		require.NoError(t, err)
		e, err := b.Event(t.Context(), ref)
		require.NoError(t, err)
		d, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{planned(e, "evt_1")}})
		require.NoError(t, err)
		return r, d
	}
	old := b.dispatched(t, "evt_1", ledger.AtLeastOnce)
	b.settle(t, b.granted(t, old, lease), ledger.Settlement{Verdict: ledger.VerdictRefused, ResponseStatus: 400})
	_, d := replay(inbox.ReplayOptions{NewKeys: true})
	require.Len(t, d.Created, 1)
	anew := d.Created[0]
	b.settle(t, b.granted(t, anew, lease), ledger.Settlement{Verdict: ledger.VerdictRefused, ResponseStatus: 400})

	r, _ := replay(inbox.ReplayOptions{})
	require.Equal(t, 1, r.Reopened)
	require.Equal(t, ledger.EffectPending, b.effect(t, anew).State)
	require.Equal(t, ledger.EffectFailed, b.effect(t, old).State)
	b.settle(t, b.granted(t, anew, lease), ledger.Settlement{Verdict: ledger.VerdictDone})
	r, _ = replay(inbox.ReplayOptions{})
	require.Zero(t, r.Reopened)
	require.Equal(t, ledger.EffectFailed, b.effect(t, old).State)
}

// The records of an event's replays outlive the event. If its id is accepted again, the new event
// can be replayed too.
func TestReplayOfAnIdThatIsAcceptedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ref := identity.EventRef{Source: "stripe", EventID: "evt_1"}
	for _, generation := range []int{2, 3} {
		_, err := b.Dispatch(t.Context(), Dispatch{Event: b.accepted(t, "stripe", "evt_1")})
		require.NoError(t, err)
		r, err := b.Replay(t.Context(), ref, ann, inbox.ReplayOptions{})
		require.NoError(t, err)
		require.Equal(t, generation, r.Generation)
		_, err = b.pool.Exec(t.Context(), `DELETE FROM hooklatch.processed_events`) // as retention does
		require.NoError(t, err)
	}
}

// One route is repaired, and its receiver needs the events of three days again. However often this
// route is replayed, the effects of the other routes stay unchanged.
func TestReplayOfOneRoute(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ref := identity.EventRef{Source: "stripe", EventID: "evt_1"}
	by := func(e *inbox.Event, route string) ledger.NewEffect {
		effect := planned(e, "evt_1")
		effect.Route, effect.Scope = route, identity.ScopeOfRoute(e.Source, route)
		return effect
	}
	e := b.accepted(t, "stripe", "evt_1")
	mail, erp := by(e, "mail").EffectID, by(e, "erp").EffectID
	_, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{by(e, "mail"), by(e, "erp")}})
	require.NoError(t, err)
	b.settle(t, b.granted(t, mail, lease), ledger.Settlement{Verdict: ledger.VerdictRefused, ResponseStatus: 400})
	b.settle(t, b.granted(t, erp, lease), ledger.Settlement{Verdict: ledger.VerdictDone})

	replay := func(opts inbox.ReplayOptions) (inbox.Replayed, *inbox.Event) {
		t.Helper()
		r, err := b.Replay(t.Context(), ref, ann, opts)
		require.NoError(t, err)
		e, err := b.Event(t.Context(), ref)
		require.NoError(t, err)
		return r, e
	}
	r, e := replay(inbox.ReplayOptions{Route: "erp", NewKeys: true})
	require.Zero(t, r.Reopened)
	require.Equal(t, "erp", e.OnlyRoute)
	anew := by(e, "erp").EffectID
	d, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{by(e, "erp")}})
	require.NoError(t, err)
	require.Equal(t, []identity.EffectID{anew}, d.Created)
	require.NotEqual(t, erp, anew)
	require.Equal(t, ledger.EffectFailed, b.effect(t, mail).State)

	e, err = b.Event(t.Context(), ref)
	require.NoError(t, err)
	require.Empty(t, e.OnlyRoute, "the event waits for no dispatch")
	b.settle(t, b.granted(t, anew, lease), ledger.Settlement{Verdict: ledger.VerdictRefused, ResponseStatus: 400})

	// Under the old keys, the failed effects of the route are retried, and no others.
	r, e = replay(inbox.ReplayOptions{Route: "erp"})
	require.Equal(t, 1, r.Reopened)
	require.Equal(t, ledger.EffectPending, b.effect(t, anew).State)
	require.Equal(t, ledger.EffectFailed, b.effect(t, mail).State)
	d, err = b.Dispatch(t.Context(), Dispatch{Event: e})
	require.NoError(t, err)
	require.Equal(t, inbox.Dispatched, d.Outcome, "if the route no longer matches, the effects of the other routes stay")

	// The next replay covers all routes, with the same keys as before.
	r, e = replay(inbox.ReplayOptions{})
	require.Equal(t, 1, r.Reopened)
	require.Empty(t, e.OnlyRoute)
	d, err = b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{by(e, "mail"), by(e, "erp")}})
	require.NoError(t, err)
	require.Empty(t, d.Created)
	require.ElementsMatch(t, []identity.EffectID{mail, erp}, d.Suppressed)
	replays, err := b.EventReplays(t.Context(), ref)
	require.NoError(t, err)
	require.Equal(t, []string{"erp", "erp", ""}, []string{replays[0].Route, replays[1].Route, replays[2].Route})

	// An event whose dispatch failed lacks effects for every route, so a replay of one route is
	// refused.
	_, err = b.pool.Exec(t.Context(), `UPDATE hooklatch.processed_events SET outcome = 'failed'`)
	require.NoError(t, err)
	_, err = b.Replay(t.Context(), ref, ann, inbox.ReplayOptions{Route: "erp"})
	require.ErrorIs(t, err, inbox.ErrNotReplayable)
	require.ErrorContains(t, err, "its dispatch failed for all routes")
	for route, want := range map[string]int64{"": 1, "erp": 0} {
		v, err := b.Runs().Preview(t.Context(), runs.Order{Action: ledger.ActionReplayEvent, EventTerms: runs.EventTerms{Route: route}}, runs.Bite{})
		require.NoError(t, err)
		require.Equal(t, want, v.Selected, "the preview counts the events that are replayed, for route %q", route)
	}
	_, err = b.Replay(t.Context(), ref, ann, inbox.ReplayOptions{})
	require.NoError(t, err)
}

// An effect that could not be rendered sends the content from its own event's replay, whatever
// other plans share the batch.
func TestReplayRendersWhatItsOwnPlanSays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	replayed := func(id string) *inbox.Event {
		t.Helper()
		ref := identity.EventRef{Source: "stripe", EventID: identity.EventID(id)}
		_, err := b.Replay(t.Context(), ref, ann, inbox.ReplayOptions{})
		require.NoError(t, err)
		e, err := b.Event(t.Context(), ref)
		require.NoError(t, err)
		return e
	}
	with := func(e *inbox.Event, key, body string) Dispatch {
		effect := planned(e, key)
		effect.Request.Body = []byte(body)
		if body == "" {
			effect.Parked = "cannot be rendered"
		}
		return Dispatch{Event: e, Effects: []ledger.NewEffect{effect}}
	}
	batch := func(plans ...Dispatch) []Dispatched {
		t.Helper()
		var results []Dispatched
		require.NoError(t, pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) (err error) {
			results, err = b.dispatchBatch(t.Context(), tx, plans)
			return err
		}))
		return results
	}
	a := b.accepted(t, "stripe", "evt_a")
	id := planned(a, "shared").EffectID
	batch(with(a, "shared", ""))
	require.Equal(t, ledger.EffectParked, b.effect(t, id).State)

	// evt_b has the same key, and is dispatched for the first time, in the same batch as a replay.
	first, other := b.accepted(t, "stripe", "evt_b"), b.accepted(t, "stripe", "evt_c")
	batch(with(other, "other", "c"))
	results := batch(with(first, "shared", "b"), with(replayed("evt_c"), "other", "c"))
	require.Equal(t, []identity.EffectID{id}, results[0].Suppressed)
	require.Equal(t, ledger.EffectParked, b.effect(t, id).State)
	require.Zero(t, b.jobs(t, id))

	// Both cases occur in one batch: evt_d comes first, and evt_a is replayed.
	results = batch(with(b.accepted(t, "stripe", "evt_d"), "shared", "d"), with(replayed("evt_a"), "shared", "a"))
	require.Equal(t, []identity.EffectID{id}, results[0].Suppressed)
	require.Equal(t, []identity.EffectID{id}, results[1].Created)
	require.Equal(t, ledger.EffectPending, b.effect(t, id).State)
	require.Equal(t, 1, b.jobs(t, id))
	require.Equal(t, "a", string(b.granted(t, id, lease).Request.Body))
}

func TestReplayUnknown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.Replay(t.Context(), identity.EventRef{Source: "stripe", EventID: "none"}, ann, inbox.ReplayOptions{})
	require.ErrorIs(t, err, ledger.ErrNotFound)
	require.ErrorIs(t, b.Ledger().Retry(t.Context(), "hl_none", ann), ledger.ErrNotFound)
}

func TestEnqueueTx(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.fleet.RegisterDestinations(t.Context(), []fleet.Destination{{Name: "mail", Kind: "email", Queue: "dst_mail", Policy: ledger.AtMostOnce, ConfigHash: "1"}}))
	require.NoError(t, b.fleet.RegisterDestinations(t.Context(), []fleet.Destination{{Name: "mail", Kind: "email", Queue: "dst_mail", Policy: ledger.AtMostOnce, ConfigHash: "2"}}))
	effect := Enqueue{Key: "order-1", Destination: "mail", Request: ledger.Request{Body: []byte("hello")}}

	boom := errors.New("boom")
	require.ErrorIs(t, pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		isNew, err := b.EnqueueTx(t.Context(), tx, effect)
		require.NoError(t, err)
		require.True(t, isNew)
		return boom
	}), boom)
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.effects`))

	for _, want := range []bool{true, false} {
		require.NoError(t, pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
			isNew, err := b.EnqueueTx(t.Context(), tx, effect)
			require.Equal(t, want, isNew)
			return err
		}))
	}
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE queue = 'dst_mail'`))
	id := identity.EffectID{Scope: identity.ScopeOfEnqueue("mail"), Key: "order-1", Generation: 1}
	claimed := b.granted(t, id, lease)
	require.Equal(t, ledger.AtMostOnce, claimed.Policy)
	require.Equal(t, "hello", string(claimed.Request.Body))

	require.ErrorIs(t, pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		_, err := b.EnqueueTx(t.Context(), tx, Enqueue{Key: "k", Destination: "fax"})
		return err
	}), ledger.ErrUnknownDestination)
}

func TestHealth(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.CanCommit(t.Context()))
	b.accepted(t, "stripe", "waiting")
	b.dispatched(t, "done", ledger.AtLeastOnce)
	_, err := b.MakePartitions(t.Context())
	require.NoError(t, err)
	made, err := b.MakePartitions(t.Context())
	require.NoError(t, err)
	require.Zero(t, made)

	_, err = b.pool.Exec(t.Context(), `DO $$ DECLARE part regclass; BEGIN
		FOR part IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'hooklatch.deliveries'::regclass ORDER BY inhrelid::regclass::text DESC LIMIT 13 LOOP
			EXECUTE 'DROP TABLE ' || part;
		END LOOP; END $$`)
	require.NoError(t, err)
	require.ErrorContains(t, b.CanCommit(t.Context()), "1 day ahead")
	made, err = b.MakePartitions(t.Context())
	require.NoError(t, err)
	require.Equal(t, 13, made)

	events, err := b.Finder().Events(t.Context(), find.Events{State: inbox.Received}, find.Beginning, 0)
	require.NoError(t, err)
	require.Len(t, events.Rows, 1)
	effects, err := b.Finder().Effects(t.Context(), find.Effects{
		States: []ledger.EffectState{ledger.EffectPending}, Event: identity.EventRef{Source: "stripe", EventID: "done"},
	}, find.Beginning, 0)
	require.NoError(t, err)
	require.Len(t, effects.Rows, 1)
}
