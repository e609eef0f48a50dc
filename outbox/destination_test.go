package outbox

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func (b *bundle) register(t testing.TB, destinations ...fleet.Destination) {
	t.Helper()
	require.NoError(t, b.fleet.RegisterDestinations(t.Context(), destinations))
}

func (b *bundle) destination(t testing.TB, name string) fleet.DestinationState {
	t.Helper()
	all, err := b.fleet.Destinations(t.Context())
	require.NoError(t, err)
	for _, d := range all {
		if d.Name == name {
			return d
		}
	}
	require.Fail(t, "no destination "+name)
	return fleet.DestinationState{}
}

// The test tries every combination of an operator's pause, a breaker, and a separate or shared
// queue. It checks the state of River's queue, and the results of claims and probes.
func TestPauseTruthTable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		operator    bool
		breaker     fleet.BreakerState
		shared      bool
		queuePaused bool
		claim       ledger.ClaimStatus
		probe       ledger.ClaimStatus
	}{
		{false, fleet.BreakerClosed, false, false, ledger.ClaimGranted, ledger.ClaimGranted},
		{false, fleet.BreakerOpen, false, true, ledger.ClaimPaused, ledger.ClaimGranted},
		{false, fleet.BreakerHalfOpen, false, true, ledger.ClaimPaused, ledger.ClaimGranted},
		{true, fleet.BreakerClosed, false, true, ledger.ClaimPaused, ledger.ClaimPaused},
		{true, fleet.BreakerOpen, false, true, ledger.ClaimPaused, ledger.ClaimPaused},
		{true, fleet.BreakerHalfOpen, false, true, ledger.ClaimPaused, ledger.ClaimPaused},
		{false, fleet.BreakerClosed, true, false, ledger.ClaimGranted, ledger.ClaimGranted},
		{false, fleet.BreakerOpen, true, false, ledger.ClaimPaused, ledger.ClaimGranted},
		{false, fleet.BreakerHalfOpen, true, false, ledger.ClaimPaused, ledger.ClaimGranted},
		{true, fleet.BreakerClosed, true, false, ledger.ClaimPaused, ledger.ClaimPaused},
		{true, fleet.BreakerOpen, true, false, ledger.ClaimPaused, ledger.ClaimPaused},
		{true, fleet.BreakerHalfOpen, true, false, ledger.ClaimPaused, ledger.ClaimPaused},
	} {
		b := setup(t)
		b.register(t, fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app"})
		if c.shared {
			b.register(t, fleet.Destination{Name: "other", Kind: "http", Queue: "dst_app"})
		}
		if c.breaker != fleet.BreakerClosed {
			require.NoError(t, failure(b.fleet.Trip(t.Context(), "app", "all failed", 0)))
		}
		if c.breaker == fleet.BreakerHalfOpen {
			began, err := b.fleet.BeginProbe(t.Context(), "app", time.Minute)
			require.NoError(t, err)
			require.True(t, began)
		}
		require.NoError(t, b.fleet.SetPaused(t.Context(), "app", c.operator, because("maintenance")))
		d := b.destination(t, "app")
		require.Equal(t, c.breaker, d.Breaker, "%+v", c)
		require.Equal(t, c.operator, d.OperatorPaused, "%+v", c)
		require.Equal(t, c.shared, d.SharedQueue)
		require.Equal(t, c.queuePaused, d.QueuePaused, "%+v", c)
		require.Equal(t, c.operator || c.breaker != fleet.BreakerClosed, d.Paused())

		require.Equal(t, c.claim, b.claim(t, b.dispatched(t, "evt_1", ledger.AtLeastOnce), lease).Status, "%+v", c)
		probe, err := b.Ledger().Claim(t.Context(), ledger.Claim{ID: b.dispatched(t, "evt_2", ledger.AtLeastOnce), ClaimID: uuid.New(), Lease: lease, Probe: true})
		require.NoError(t, err)
		require.Equal(t, c.probe, probe.Status, "%+v", c)
	}
}

// The queue of a destination whose row another transaction has locked stays unchanged. The queues of
// all other destinations are paused.
func TestALockedDestinationHoldsUpNoOthersPause(t *testing.T) {
	t.Parallel()
	b := setup(t)
	names := []string{"a", "b", "c"}
	for _, name := range names {
		b.register(t, fleet.Destination{Name: name, Kind: "http", Queue: "dst_" + name})
	}
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.destinations SET operator_paused = true`)
	require.NoError(t, err)
	for _, locked := range names {
		tx, err := b.pool.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), `SELECT FROM hooklatch.destinations WHERE name = $1 FOR UPDATE`, locked)
		require.NoError(t, err)
		require.Eventually(t, func() bool { // on a busy machine, the change of another destination may time out, too
			err = b.fleet.SyncPauses(context.Background())
			return b.count(t, `SELECT count(*) FROM hooklatch.river_queue WHERE paused_at IS NOT NULL`) == len(names)-1
		}, 2*time.Minute, time.Millisecond, "%s is locked", locked)
		require.ErrorIs(t, err, ErrUnavailable)
		require.ErrorContains(t, err, "sync pause of "+locked)
		for _, name := range names {
			require.Equal(t, name != locked, b.destination(t, name).QueuePaused, "%s is locked: %s", locked, name)
		}
		require.NoError(t, tx.Rollback(t.Context()))
		_, err = b.pool.Exec(t.Context(), `UPDATE hooklatch.river_queue SET paused_at = NULL`)
		require.NoError(t, err)
	}
}

// An operator who repaired the receiver need not wait for the next probe.
func TestAProbeIsBroughtForward(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app"})
	require.NoError(t, b.fleet.ProbeNow(t.Context(), "app", because("it was closed")))
	require.NoError(t, failure(b.fleet.Trip(t.Context(), "app", "10 of 10 failed", time.Hour)))
	began, err := b.fleet.BeginProbe(t.Context(), "app", time.Minute)
	require.NoError(t, err)
	require.False(t, began, "too early")
	require.NoError(t, b.fleet.ProbeNow(t.Context(), "app", because("they restarted it")))
	require.NoError(t, b.fleet.ProbeNow(t.Context(), "app", because("twice")))
	began, err = b.fleet.BeginProbe(t.Context(), "app", time.Minute)
	require.NoError(t, err)
	require.True(t, began)
	until := b.destination(t, "app").ProbeAt
	require.NoError(t, b.fleet.ProbeNow(t.Context(), "app", because("one is on its way")))
	require.Equal(t, until, b.destination(t, "app").ProbeAt)
	require.ErrorIs(t, b.fleet.ProbeNow(t.Context(), "nobody", ann), ledger.ErrUnknownDestination)

	var affected []int64
	for _, a := range b.actions(t) {
		require.Equal(t, fleet.ActionProbe, a.Action)
		affected = append(affected, a.Affected)
	}
	require.Equal(t, []int64{0, 0, 1, 0}, affected)
}

// Failed attempts that began before the breaker closed do not open it again. Later failures open it,
// even if other attempts succeed at the same time.
func TestABreakerJudgesByAttemptsSinceItClosed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app"})
	trip := func(failing, succeeded time.Duration) bool {
		opened, err := b.fleet.TripSince(t.Context(), "app", "down", time.Hour, fleet.Evidence{Failing: failing, Succeeded: succeeded})
		require.NoError(t, err)
		return opened
	}
	later := func(by string) {
		_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.destinations SET succeeded_at = succeeded_at - $1::interval`, by)
		require.NoError(t, err)
	}
	require.True(t, trip(time.Hour, 0), "it never closed")
	require.False(t, trip(time.Hour, time.Minute), "it is open")
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.destinations WHERE succeeded_at BETWEEN now() - interval '2 minutes' AND now() - interval '50 seconds'`))
	require.NoError(t, failure(b.fleet.CloseBreaker(t.Context(), "app")))
	later("1 minute")
	require.False(t, trip(2*time.Minute, time.Second))
	require.True(t, trip(30*time.Second, time.Second), "the success of another attempt does not count")

	// A success time from a wrong clock does not hide a failure.
	require.NoError(t, failure(b.fleet.CloseBreaker(t.Context(), "app")))
	later("-1 day")
	require.True(t, trip(30*time.Second, 0))
}

func TestBreakerRecoversAndKeepsTheOperatorsPause(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app"})
	require.NoError(t, failure(b.fleet.Trip(t.Context(), "app", "10 of 10 failed\x00", time.Hour)))
	opened, err := b.fleet.Trip(t.Context(), "app", "again", 0)
	require.NoError(t, err)
	require.False(t, opened, "only the first call opens the breaker")
	d := b.destination(t, "app")
	require.Equal(t, "10 of 10 failed\uFFFD", d.BreakerReason)
	require.Greater(t, time.Until(d.ProbeAt), 30*time.Minute)
	began, err := b.fleet.BeginProbe(t.Context(), "app", time.Minute)
	require.NoError(t, err)
	require.False(t, began, "too early")
	_, err = b.pool.Exec(t.Context(), `UPDATE hooklatch.destinations SET probe_at = now()`)
	require.NoError(t, err)

	began, err = b.fleet.BeginProbe(t.Context(), "app", 0)
	require.NoError(t, err)
	require.True(t, began)
	began, err = b.fleet.BeginProbe(t.Context(), "app", time.Minute)
	require.NoError(t, err)
	require.True(t, began, "the lease of the previous probe has ended")
	began, err = b.fleet.BeginProbe(t.Context(), "app", time.Minute)
	require.NoError(t, err)
	require.False(t, began, "another process is probing")
	require.NoError(t, failure(b.fleet.Trip(t.Context(), "app", "a late failure", 0)))
	require.Equal(t, fleet.BreakerHalfOpen, b.destination(t, "app").Breaker)
	require.NoError(t, b.fleet.ProbeFailed(t.Context(), "app", "still down", 0))
	require.Equal(t, fleet.BreakerOpen, b.destination(t, "app").Breaker)
	require.Equal(t, "still down", b.destination(t, "app").BreakerReason)

	require.NoError(t, b.fleet.SetPaused(t.Context(), "app", true, because("deploy")))
	began, err = b.fleet.BeginProbe(t.Context(), "app", time.Minute)
	require.NoError(t, err)
	require.False(t, began, "an operator's pause also blocks probes")
	require.NoError(t, failure(b.fleet.CloseBreaker(t.Context(), "app")))
	d = b.destination(t, "app")
	require.True(t, d.QueuePaused, "closing the breaker does not undo an operator's pause")
	require.Equal(t, "ann", d.PausedBy)
	require.True(t, d.OpenedAt.IsZero())
	require.NoError(t, b.fleet.SetPaused(t.Context(), "app", false, ann))
	d = b.destination(t, "app")
	require.False(t, d.QueuePaused)
	require.True(t, d.PausedAt.IsZero())
	require.Equal(t, fleet.BreakerClosed, d.Breaker)

	require.ErrorIs(t, failure(b.fleet.Trip(t.Context(), "nobody", "x", 0)), ledger.ErrUnknownDestination)
	require.ErrorIs(t, b.fleet.SetPaused(t.Context(), "nobody", true, ann), ledger.ErrUnknownDestination)
}

// River's queue is paused if and only if the destination is paused, whichever change commits last.
func TestConcurrentPausesAgree(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app"})
	for round := range 15 {
		ctx := context.Background()
		var all sync.WaitGroup
		for _, change := range []func() error{
			func() error { return failure(b.fleet.Trip(ctx, "app", "down", time.Minute)) },
			func() error { return b.fleet.SetPaused(ctx, "app", round%2 == 0, ann) },
			func() error { return failure(b.fleet.CloseBreaker(ctx, "app")) },
			func() error { return failure(b.fleet.Trip(ctx, "app", "down", time.Minute)) },
			func() error { return b.fleet.SyncPauses(ctx) },
		} {
			all.Go(func() {
				if err := change(); err != nil {
					t.Errorf("change: %v", err)
				}
			})
		}
		all.Wait()
		d := b.destination(t, "app")
		require.Equal(t, round%2 == 0, d.OperatorPaused)
		require.Equal(t, d.Paused(), d.QueuePaused, "%+v", d)
	}
}

func TestSyncPausesFollowsTheDestinations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app"}, fleet.Destination{Name: "mail", Kind: "email", Queue: "dst_mail"})
	require.NoError(t, b.fleet.SetPaused(t.Context(), "app", true, ann))
	// River has deleted the row of one queue, and the other queue was paused in River UI.
	_, err := b.pool.Exec(t.Context(), `DELETE FROM hooklatch.river_queue;
		INSERT INTO hooklatch.river_queue (name, updated_at, paused_at) VALUES ('dst_mail', now(), now()), ('dispatch', now(), now())`)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return b.fleet.SyncPauses(context.Background()) == nil }, 2*time.Minute, time.Millisecond)
	require.True(t, b.destination(t, "app").QueuePaused)
	require.False(t, b.destination(t, "mail").QueuePaused)
	require.Equal(t, 2, b.count(t, `SELECT count(*) FROM hooklatch.river_queue WHERE paused_at IS NOT NULL`), "other queues stay unchanged")
}

func TestOldestDue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, found, err := b.Ledger().OldestDue(t.Context(), "app")
	require.NoError(t, err)
	require.False(t, found)
	oldest := b.dispatched(t, "evt_1", ledger.AtLeastOnce)
	waits := b.dispatched(t, "evt_2", ledger.AtLeastOnce)
	b.dispatched(t, "evt_3", ledger.AtLeastOnce)
	_, err = b.pool.Exec(t.Context(), `UPDATE hooklatch.effects SET next_attempt_at = now() - CASE key WHEN 'evt_1' THEN interval '1 hour' WHEN 'evt_2' THEN interval '-1 hour' ELSE '0' END`)
	require.NoError(t, err)
	id, found, err := b.Ledger().OldestDue(t.Context(), "app")
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, oldest, id)
	require.Equal(t, ledger.ClaimNotDue, b.claim(t, waits, lease).Status)
	b.granted(t, oldest, time.Nanosecond)
	id, _, err = b.Ledger().OldestDue(t.Context(), "app")
	require.NoError(t, err)
	require.Equal(t, oldest, id, "the worker of this attempt was lost")
}

// A pause does not delay the parking of an at_most_once effect whose attempt was lost.
func TestLostAtMostOnceIsParkedWhilePaused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app"})
	once, again := b.dispatched(t, "evt_1", ledger.AtMostOnce), b.dispatched(t, "evt_2", ledger.AtLeastOnce)
	b.granted(t, once, time.Nanosecond)
	b.granted(t, again, time.Nanosecond)
	require.NoError(t, b.fleet.SetPaused(t.Context(), "app", true, ann))
	require.Equal(t, ledger.ClaimParked, b.claim(t, once, lease).Status)
	require.Equal(t, ledger.ClaimPaused, b.claim(t, again, lease).Status)
	require.Equal(t, ledger.EffectStarted, b.effect(t, again).State)
	attempts, err := b.Ledger().Attempts(t.Context(), again)
	require.NoError(t, err)
	require.Empty(t, attempts, "no attempt is recorded")
}

// A failed probe changes nothing if it is reported while no probe is running.
func TestProbeThatFailsTooLateOpensNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app"})
	require.NoError(t, b.fleet.ProbeFailed(t.Context(), "app", "down", time.Minute))
	require.Equal(t, fleet.BreakerClosed, b.destination(t, "app").Breaker)
	require.NoError(t, failure(b.fleet.Trip(t.Context(), "app", "first", time.Hour)))
	require.NoError(t, b.fleet.ProbeFailed(t.Context(), "app", "second", 0))
	require.Equal(t, "first", b.destination(t, "app").BreakerReason, "no probe is running")
}
