package outbox

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

func TestRetiredDestinationTakesNothingAndKeepsNothingWaiting(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ann := ledger.Operator{Who: "ann", Via: "test", Reason: "the shop is closed"}
	app := fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app"}
	require.NoError(t, b.fleet.RegisterDestinations(t.Context(), []fleet.Destination{app}))
	_, err := b.fleet.Announce(t.Context(), fleet.Presence{ID: "one", Destinations: []fleet.Destination{app}})
	require.NoError(t, err)
	enqueue := func(key string) (added bool, err error) {
		err = b.pool.QueryRow(t.Context(), `SELECT hooklatch.enqueue('app', $1, '{}')`, key).Scan(&added)
		return added, err
	}
	for _, key := range []string{"one", "two", "three"} {
		added, err := enqueue(key)
		require.NoError(t, err)
		require.True(t, added)
	}
	doubtful := identity.EffectID{Scope: identity.ScopeOfEnqueue("app"), Key: "one", Generation: 1}
	b.settle(t, b.granted(t, doubtful, lease), ledger.Settlement{Verdict: ledger.VerdictMaybeApplied})
	waiting, err := b.fleet.Waiting(t.Context())
	require.NoError(t, err)
	require.Len(t, waiting, 1)
	require.EqualValues(t, 3, waiting[0].Effects)

	_, err = b.fleet.Retire(t.Context(), "app", ann)
	require.ErrorIs(t, err, fleet.ErrServed)
	require.NoError(t, b.fleet.Withdraw(t.Context(), "one"))
	retire := func() int64 {
		run, err := b.fleet.Retire(t.Context(), "app", ann)
		require.NoError(t, err)
		run, err = b.Runs().Carry(t.Context(), run, nil)
		require.NoError(t, err)
		_, err = b.fleet.SyncQueues(t.Context()) // upkeep
		require.NoError(t, err)
		return run.Changed
	}
	// One of the jobs was set aside, as if the destination had been paused in a shared queue.
	var job int64
	require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT min(id) FROM hooklatch.river_job WHERE kind = 'effect'`).Scan(&job))
	require.NoError(t, b.fleet.SetAside(t.Context(), "app", job))
	_, err = b.fleet.SyncQueues(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect' AND finalized_at IS NULL`), "the destination still exists")
	require.EqualValues(t, 3, retire())
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect' AND finalized_at IS NULL`), "no job waits in a queue that no worker reads")
	require.Equal(t, 3, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'parked' AND error = 'parked by ann: the shop is closed (run 1)'`))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.operator_log WHERE action = 'destination.retire' AND target = 'app' AND who = 'ann'`))

	_, err = enqueue("four")
	require.ErrorContains(t, err, "unknown destination 'app'")
	require.ErrorIs(t, pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		_, err := b.EnqueueTx(t.Context(), tx, Enqueue{Key: "four", Destination: "app"})
		return err
	}), ledger.ErrUnknownDestination)
	_, err = b.fleet.Retire(t.Context(), "app", ann)
	require.ErrorIs(t, err, ledger.ErrUnknownDestination)

	// A retry is still possible: the effect waits, and can be parked by retiring the destination again.
	keys, err := b.Finder().Effects(t.Context(), find.Effects{States: []ledger.EffectState{ledger.EffectParked}}, find.Beginning, 0)
	require.NoError(t, err)
	require.NoError(t, b.Ledger().Retry(t.Context(), keys.Rows[0].IdempotencyKey, ann))
	require.EqualValues(t, 1, retire())
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect' AND finalized_at IS NULL`))

	// A process with the destination in its configuration registers it again.
	require.NoError(t, b.fleet.RegisterDestinations(t.Context(), []fleet.Destination{app}))
	added, err := enqueue("four")
	require.NoError(t, err)
	require.True(t, added)
}

// An application's transaction reads the destination before it is retired, and commits afterwards.
// The effect that the transaction enqueued is parked too.
func TestRetiringWaitsForEffectsThatAreBeingEnqueued(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ann := ledger.Operator{Who: "ann", Via: "test", Reason: "the shop is closed"}
	require.NoError(t, b.fleet.RegisterDestinations(t.Context(), []fleet.Destination{{Name: "app", Kind: "http", Queue: "dst_app"}}))
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	_, err = b.EnqueueTx(t.Context(), tx, Enqueue{Key: "one", Destination: "app"})
	require.NoError(t, err)

	var run runs.Run
	begun := make(chan error, 1)
	go func() {
		var err error
		run, err = b.fleet.Retire(t.Context(), "app", ann)
		begun <- err
	}()
	soon(t, func() bool { return b.count(t, `SELECT count(*) FROM hooklatch.destinations`) == 0 })
	select {
	case <-begun:
		t.Fatal("the run has begun, and cannot see the effect")
	case <-time.After(100 * time.Millisecond):
	}
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-begun)
	run, err = b.Runs().Carry(t.Context(), run, nil)
	require.NoError(t, err)
	require.EqualValues(t, 1, run.Changed)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'parked'`))
}

func TestDestinationsTellWhoServesThem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	app, crm := fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app"}, fleet.Destination{Name: "crm", Kind: "http", Queue: "dst_crm"}
	require.NoError(t, b.fleet.RegisterDestinations(t.Context(), []fleet.Destination{app, crm}))
	for _, id := range []string{"one", "two"} {
		_, err := b.fleet.Announce(t.Context(), fleet.Presence{ID: id, Destinations: []fleet.Destination{app}})
		require.NoError(t, err)
	}
	states, err := b.fleet.Destinations(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, states[0].ServedBy)
	require.False(t, states[0].ServedAt.IsZero())
	require.Zero(t, states[1].ServedBy)
	require.True(t, states[1].ServedAt.IsZero())

	_, err = b.fleet.SyncQueues(t.Context())
	require.NoError(t, err)
	for _, id := range []string{"one", "two"} {
		require.NoError(t, b.fleet.Withdraw(t.Context(), id))
	}
	states, err = b.fleet.Destinations(t.Context())
	require.NoError(t, err)
	require.Zero(t, states[0].ServedBy)
	require.False(t, states[0].ServedAt.IsZero(), "the time when it was last served stays known")
}

// The process that started last decides the queue in which effects wait, whichever process
// registered the destination last.
func TestQueueIsThatOfTheYoungestProcess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	queue := func() (queue string) {
		_, err := b.fleet.SyncQueues(t.Context())
		require.NoError(t, err)
		require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT queue FROM hooklatch.destinations WHERE name = 'app'`).Scan(&queue))
		return queue
	}
	in := func(queue string) []fleet.Destination {
		return []fleet.Destination{{Name: "app", Kind: "http", Queue: queue}}
	}
	_, err := b.fleet.Announce(t.Context(), fleet.Presence{ID: "new", Running: 1, Destinations: in("new")})
	require.NoError(t, err)
	_, err = b.fleet.Announce(t.Context(), fleet.Presence{ID: "old", Running: 1e12, Destinations: in("old")})
	require.NoError(t, err)
	require.NoError(t, b.fleet.RegisterDestinations(t.Context(), in("old")))
	require.Equal(t, "new", queue())
	require.NoError(t, b.fleet.Withdraw(t.Context(), "new"))
	require.Equal(t, "old", queue())
	require.NoError(t, b.fleet.Withdraw(t.Context(), "old"))
	require.Equal(t, "old", queue(), "without a process the queue stays")
}
