package outbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func TestDispatchCreatesEffectsOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.accepted(t, "stripe", "evt_1")
	effect := planned(e, "evt_1")
	d, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{effect}, ConfigHash: "abc"})
	require.NoError(t, err)
	require.True(t, d.Fenced)
	require.Equal(t, inbox.Dispatched, d.Outcome)
	require.Equal(t, []identity.EffectID{effect.EffectID}, d.Created)

	again, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{effect, planned(e, "other")}})
	require.NoError(t, err)
	require.False(t, again.Fenced, "an attempt that wakes up late writes nothing (I4)")
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects`))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect'`))

	stored, err := b.Ledger().Effect(t.Context(), effect.IdempotencyKey())
	require.NoError(t, err)
	require.Equal(t, ledger.EffectPending, stored.State)
	require.Equal(t, e.EventRef, stored.Event)
	require.Equal(t, effect.Request.Body, stored.Request.Body)
	require.Equal(t, e.AcceptSeq, stored.AcceptSeq)

	e, err = b.Event(t.Context(), e.EventRef)
	require.NoError(t, err)
	require.Equal(t, inbox.Dispatched, e.Outcome)
	require.Equal(t, "abc", e.ConfigHash)
}

func TestDispatchWithoutEffectsSkips(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.accepted(t, "stripe", "evt_1")
	d, err := b.Dispatch(t.Context(), Dispatch{Event: e})
	require.NoError(t, err)
	require.Equal(t, inbox.Skipped, d.Outcome)
}

func TestTwoEventsOfOneKeyMakeOneEffect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const events = 20
	var mu sync.Mutex
	created, suppressed := 0, 0
	var all sync.WaitGroup
	accepted := make([]*inbox.Event, events)
	for i := range accepted {
		accepted[i] = b.accepted(t, "stripe", fmt.Sprintf("evt_%d", i))
	}
	for _, e := range accepted {
		all.Go(func() {
			d, err := b.Dispatch(context.Background(), Dispatch{Event: e, Effects: []ledger.NewEffect{planned(e, "in_1"), planned(e, "in_2")}})
			if err != nil {
				t.Errorf("dispatch: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			created += len(d.Created)
			suppressed += len(d.Suppressed)
		})
	}
	all.Wait()
	require.Equal(t, 2, created)
	require.Equal(t, 2*(events-1), suppressed)
	require.Equal(t, 2, b.count(t, `SELECT count(*) FROM hooklatch.effects`))
	require.Equal(t, 2*events, b.count(t, `SELECT count(*) FROM hooklatch.all_links`), "every event is linked")
	require.Equal(t, 2*(events-1), b.count(t, `SELECT count(*) FROM hooklatch.all_links WHERE suppressed`))
	require.Equal(t, 2, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect'`))

	links, err := b.Ledger().EffectsOfEvent(t.Context(), identity.EventRef{Source: "stripe", EventID: "evt_3"})
	require.NoError(t, err)
	require.Len(t, links, 2)
}

func TestDispatchTxRunsHandlerOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.pool.Exec(t.Context(), `CREATE TABLE counter (n integer NOT NULL)`)
	require.NoError(t, err)
	e := b.accepted(t, "stripe", "evt_1")
	write := func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO counter VALUES (1)`)
		return err
	}
	boom := errors.New("boom")
	err = pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		_, err := b.DispatchTx(t.Context(), tx, Dispatch{Event: e, Effects: []ledger.NewEffect{planned(e, "k")}}, func(ctx context.Context, tx pgx.Tx) error {
			require.NoError(t, write(ctx, tx))
			return boom
		})
		return err
	})
	require.ErrorIs(t, err, boom)
	require.Zero(t, b.count(t, `SELECT count(*) FROM counter`), "an error rolls everything back")

	for range 3 {
		require.NoError(t, pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
			_, err := b.DispatchTx(t.Context(), tx, Dispatch{Event: e, Effects: []ledger.NewEffect{planned(e, "k")}}, write)
			return err
		}))
	}
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM counter`), "handler writes are applied once (I10)")
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects`))
}

func TestFailDispatchIsLeftAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.accepted(t, "stripe", "evt_1")
	_, err := b.FailDispatch(t.Context(), e, fleet.Configuration{}, "no such key: amount\x00")
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `DELETE FROM hooklatch.river_job`)
	require.NoError(t, err)
	done, err := b.reconcile(t.Context(), 0)
	require.NoError(t, err)
	require.Zero(t, done.Events)
	e, err = b.Event(t.Context(), e.EventRef)
	require.NoError(t, err)
	require.Equal(t, inbox.Failed, e.Outcome)
	require.Equal(t, "no such key: amount\uFFFD", e.Error)
}

// A dispatch that was presumed dead fails after another dispatch of the event succeeded. The result
// of the other dispatch stays.
func TestALateFailureChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.accepted(t, "stripe", "evt_1")
	_, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{planned(e, "evt_1")}})
	require.NoError(t, err)
	_, err = b.FailDispatch(t.Context(), e, fleet.Configuration{}, "too late")
	require.NoError(t, err)
	e, err = b.Event(t.Context(), e.EventRef)
	require.NoError(t, err)
	require.Equal(t, inbox.Dispatched, e.Outcome)
	require.Empty(t, e.Error)
}

func TestDispatchRefusesWrongPlans(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.accepted(t, "stripe", "evt_1")
	for name, change := range map[string]func(*ledger.NewEffect){
		"empty key":      func(n *ledger.NewEffect) { n.Key = "" },
		"no destination": func(n *ledger.NewEffect) { n.Destination = "" },
		"no queue":       func(n *ledger.NewEffect) { n.Queue = "" },
		"no scope":       func(n *ledger.NewEffect) { n.Scope = "" },
		"generation 0":   func(n *ledger.NewEffect) { n.Generation = 0 },
		"policy":         func(n *ledger.NewEffect) { n.Policy = "exactly_once" },
	} {
		effect := planned(e, "k")
		change(&effect)
		_, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{effect}})
		require.Error(t, err, name)
	}
	e, err := b.Event(t.Context(), e.EventRef)
	require.NoError(t, err)
	require.Equal(t, inbox.Received, e.Outcome)
}

// A dispatch that stalled before a replay has an old plan. The replay requested a new plan.
func TestPlanFromBeforeAReplayDoesNotPassTheFence(t *testing.T) {
	t.Parallel()
	b := setup(t)
	old := b.accepted(t, "stripe", "evt_1")
	_, err := b.Dispatch(t.Context(), Dispatch{Event: old})
	require.NoError(t, err)
	_, err = b.Replay(t.Context(), old.EventRef, ann, inbox.ReplayOptions{})
	require.NoError(t, err)
	d, err := b.Dispatch(t.Context(), Dispatch{Event: old, Effects: []ledger.NewEffect{planned(old, "evt_1")}})
	require.NoError(t, err)
	require.False(t, d.Fenced)
	_, err = b.FailDispatch(t.Context(), old, fleet.Configuration{}, "too late")
	require.NoError(t, err)
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.effects`))

	e, err := b.Event(t.Context(), old.EventRef)
	require.NoError(t, err)
	require.Equal(t, inbox.Received, e.Outcome)
	d, err = b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{planned(e, "evt_1")}})
	require.NoError(t, err)
	require.True(t, d.Fenced)
}

// Two dispatches of one event share a batch, possibly with different routes. Only the first plan is
// written.
func TestSecondPlanOfABatchDoesNotPassTheFence(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.accepted(t, "stripe", "evt_1")
	var results []Dispatched
	require.NoError(t, pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) (err error) {
		results, err = b.dispatchBatch(t.Context(), tx, []Dispatch{
			{Event: e, Effects: []ledger.NewEffect{planned(e, "first")}},
			{Event: e, Effects: []ledger.NewEffect{planned(e, "second")}},
		})
		return err
	}))
	require.True(t, results[0].Fenced)
	require.False(t, results[1].Fenced)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects`))
}

// A process with an older configuration neither dispatches nor fails an event while another process
// has a newer configuration that includes the event's source. The older process writes and locks
// nothing.
func TestOlderConfigurationDecidesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	old, err := b.fleet.Announce(t.Context(), fleet.Presence{ID: "one", Hash: "old", Routes: "old", Sources: []string{"*"}, HandlerSources: []string{"stripe"}})
	require.NoError(t, err)
	next := fleet.Presence{ID: "two", Hash: "next", Routes: "next", Sources: []string{"stripe"}}
	newest, err := b.fleet.Announce(t.Context(), next)
	require.NoError(t, err)
	again, err := b.fleet.Announce(t.Context(), fleet.Presence{ID: "three", Hash: "old", Routes: "old", Sources: []string{"*"}})
	require.NoError(t, err)
	require.Equal(t, old.Number, again.Number, "another process of a known configuration does not make it the newest")

	left, other, handled := b.accepted(t, "stripe", "evt_1"), b.accepted(t, "github", "evt_1"), b.accepted(t, "stripe", "evt_2")
	d, err := b.Dispatch(t.Context(), Dispatch{Event: left, Configuration: old})
	require.NoError(t, err)
	require.Equal(t, Dispatched{Left: true}, d)
	gaveUp, err := b.FailDispatch(t.Context(), left, old, "no")
	require.NoError(t, err)
	require.True(t, gaveUp)
	left, err = b.Event(t.Context(), left.EventRef)
	require.NoError(t, err)
	require.Equal(t, inbox.Received, left.Outcome)

	d, err = b.Dispatch(t.Context(), Dispatch{Event: other, Configuration: old})
	require.NoError(t, err)
	require.True(t, d.Fenced, "the newer configuration does not have the source")
	forHandlers := old
	forHandlers.ForHandlers = true
	d, err = b.Dispatch(t.Context(), Dispatch{Event: handled, Configuration: forHandlers})
	require.NoError(t, err)
	require.True(t, d.Fenced, "the newer configuration has no handlers of the source, and never takes the event")
	d, err = b.Dispatch(t.Context(), Dispatch{Event: left, Configuration: newest})
	require.NoError(t, err)
	require.True(t, d.Fenced)
}

// An event is given to handlers by an older configuration only if no newer configuration routes it. A
// gateway counts while the workers with its configuration may be restarting.
func TestOlderConfigurationGivesNoEventToHandlers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	old, err := b.fleet.Announce(t.Context(), fleet.Presence{ID: "one", Hash: "old", Routes: "old", Sources: []string{"stripe"}})
	require.NoError(t, err)
	_, err = b.fleet.Announce(t.Context(), fleet.Presence{ID: "two", Hash: "next", Routes: "next", Sources: []string{"stripe"}, GatewayOnly: true})
	require.NoError(t, err)
	e := b.accepted(t, "stripe", "evt_1")
	job := int64(b.count(t, `SELECT id::integer FROM hooklatch.river_job`))
	for _, seen := range []struct {
		ago   string // time since the last announcement of a worker with the newest configuration
		moved bool
	}{{"1 second", false}, {"10 minutes", true}} {
		_, err = b.pool.Exec(t.Context(), `UPDATE hooklatch.workers SET configured_at = now() - interval '1 hour'`)
		require.NoError(t, err)
		_, err = b.pool.Exec(t.Context(), `UPDATE hooklatch.configurations SET dispatched_at = now() - $1::interval WHERE hash = 'next'`, seen.ago)
		require.NoError(t, err)
		moved, err := b.fleet.RedirectEvent(t.Context(), e.EventRef, job, "handlers-stripe", old)
		require.NoError(t, err)
		require.Equal(t, seen.moved, moved, seen.ago)
	}
}

// Plans of several configurations share a batch. Only the plans of configurations older than the
// newest are left to another process.
func TestABatchLeavesOnlyThePlansOfTheOlderConfiguration(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var by []fleet.Configuration
	for _, hash := range []string{"first", "second", "third"} {
		c, err := b.fleet.Announce(t.Context(), fleet.Presence{ID: hash, Hash: hash, Sources: []string{"stripe"}})
		require.NoError(t, err)
		by = append(by, c)
	}
	var batch []Dispatch
	for i, c := range append(by, fleet.Configuration{}) {
		batch = append(batch, Dispatch{Event: b.accepted(t, "stripe", fmt.Sprint("evt_", i)), Configuration: c})
	}
	var results []Dispatched
	require.NoError(t, pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) (err error) {
		results, err = b.dispatchBatch(t.Context(), tx, batch)
		return err
	}))
	for i, left := range []bool{true, true, false, false} {
		require.Equal(t, left, results[i].Left, i)
		require.Equal(t, !left, results[i].Fenced, i)
	}
}
