package outbox

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/fault"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// onFaultyPool returns an Outbox whose COMMITs can be broken, a sound Outbox on the same database,
// and the fault that breaks the COMMITs.
func onFaultyPool(t *testing.T, options ...func(*Options)) (faulty, sound *bundle, f *fault.Fault) {
	t.Helper()
	sound = setup(t)
	pool, f, err := fault.NewPool(t.Context(), pgtest.URL(t, sound.pool))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return onPool(t, pool, options...), sound, f
}

// F7: the connection is cut after COMMIT was sent. The server may or may not have committed. The
// caller gets one result, and each event has one row (I1, I2).
func TestAcceptSurvivesALostCommit(t *testing.T) {
	t.Parallel()
	for _, mode := range []fault.Mode{fault.LoseAnswer, fault.LoseRequest, fault.Terminate} {
		for _, times := range []int{1, 3} {
			t.Run(string(mode), func(t *testing.T) {
				t.Parallel()
				b, sound, f := onFaultyPool(t, func(opts *Options) { opts.AcceptTimeout = 30 * time.Second })
				f.Arm(mode, times)
				a, err := b.Accept(t.Context(), delivery("stripe", "evt_1", "evt_2"))
				require.NoError(t, err)
				require.Equal(t, times, f.Count(), "the fault did not happen")
				require.Equal(t, 2, a.New(), "its own rows are not duplicates")
				require.Equal(t, 2, sound.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
				require.Equal(t, 1, sound.count(t, `SELECT count(*) FROM hooklatch.deliveries`))
				require.Equal(t, 2, sound.count(t, `SELECT count(*) FROM hooklatch.river_job`))

				again, err := b.Accept(t.Context(), delivery("stripe", "evt_1"))
				require.NoError(t, err)
				require.Equal(t, 1, again.Duplicates())
			})
		}
	}
}

// Duplicates whose COMMIT gets no response are counted once, or not at all.
func TestDuplicatesOfALostCommitAreCountedOnce(t *testing.T) {
	t.Parallel()
	for mode, want := range map[fault.Mode]int{fault.LoseAnswer: 3, fault.LoseRequest: 0, fault.Terminate: 3} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b, sound, f := onFaultyPool(t)
			e := b.accepted(t, "stripe", "evt_1")
			f.Arm(mode, 1)
			_, err := b.Outbox.duplicates.Submit(t.Context(), duplicateNote{ref: e.EventRef, count: 3, times: []time.Time{time.Now()}})
			require.ErrorIs(t, err, commit.ErrUnavailable)
			require.Equal(t, 1, f.Count(), "the fault did not happen")
			require.Equal(t, want, sound.count(t, `SELECT duplicates FROM hooklatch.processed_events`))
		})
	}
}

// accepts delivers d until a call of Accept acknowledges it: on a busy machine, earlier calls may
// time out.
func (b *bundle) accepts(t *testing.T, d Delivery) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := b.Accept(t.Context(), d)
		return err == nil
	}, 2*time.Minute, time.Millisecond)
}

// acceptUnheard delivers d until a COMMIT hangs without a response: on a busy machine the delivery
// may time out before its COMMIT.
func (b *bundle) acceptUnheard(t *testing.T, f *fault.Fault, d Delivery) {
	t.Helper()
	for f.Arm(fault.Hang, 1); f.Count() == 0; {
		_, err := b.Accept(t.Context(), d)
		require.ErrorIs(t, err, commit.ErrUnavailable)
	}
}

// A COMMIT never gets a response. Accept reports the unknown outcome in time, and the next delivery
// is a duplicate.
func TestAcceptGivesUpOnAHungCommit(t *testing.T) {
	t.Parallel()
	b, sound, f := onFaultyPool(t, func(opts *Options) { opts.AcceptTimeout = 2 * time.Second })
	b.acceptUnheard(t, f, delivery("stripe", "evt_1")) // without a timeout, Accept would never return
	a, err := sound.Accept(t.Context(), delivery("stripe", "evt_1"))
	require.NoError(t, err)
	require.Equal(t, 1, a.Duplicates())
}

// The other transactions also survive a lost COMMIT response: a retry finds its own rows.
func TestLedgerSurvivesALostCommit(t *testing.T) {
	t.Parallel()
	for _, mode := range []fault.Mode{fault.LoseAnswer, fault.LoseRequest, fault.Terminate} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b, sound, f := onFaultyPool(t)
			e := b.accepted(t, "stripe", "evt_1")
			effect := planned(e, "evt_1")

			f.Arm(mode, 1)
			_, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{effect}})
			require.NoError(t, err)
			require.Equal(t, 1, sound.count(t, `SELECT count(*) FROM hooklatch.effects`))
			require.Equal(t, 1, sound.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect'`))

			f.Arm(mode, 1)
			claimed := b.granted(t, effect.EffectID, lease)
			require.Equal(t, 1, claimed.Attempt)

			f.Arm(mode, 1)
			settled := b.settle(t, claimed, ledger.Settlement{Verdict: ledger.VerdictDone, ResponseStatus: 200})
			require.False(t, settled.Late)
			require.Equal(t, ledger.EffectDone, settled.State)
			require.Equal(t, 3, f.Count(), "every COMMIT was broken once")
			require.Equal(t, 1, sound.count(t, `SELECT count(*) FROM hooklatch.all_attempts`))
		})
	}
}

// Ordered effects and versions also survive a lost COMMIT response: the next effect gets one job.
func TestOrderSurvivesALostCommit(t *testing.T) {
	t.Parallel()
	for _, mode := range []fault.Mode{fault.LoseAnswer, fault.LoseRequest, fault.Terminate} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b, sound, f := onFaultyPool(t)
			noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
			newer, older := b.version(t, "evt_1", noon), b.version(t, "evt_2", noon.Add(-time.Hour))
			last := b.version(t, "evt_3", noon.Add(time.Hour))

			f.Arm(mode, 1)
			claimed := b.granted(t, newer, lease)
			require.Equal(t, 1, claimed.Attempt)
			f.Arm(mode, 1)
			b.settle(t, claimed, ledger.Settlement{Verdict: ledger.VerdictDone})
			require.Equal(t, 1, sound.jobs(t, older))
			f.Arm(mode, 1)
			require.Equal(t, ledger.ClaimSuperseded, b.claim(t, older, lease).Status)
			require.Equal(t, 1, sound.jobs(t, last))
			require.Equal(t, 3, f.Count(), "every COMMIT was broken once")
		})
	}
}

// A pause is one change, however often its COMMIT is retried.
func TestPauseSurvivesALostCommit(t *testing.T) {
	t.Parallel()
	b, sound, f := onFaultyPool(t)
	sound.register(t, fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app"})
	for n, change := range []func() (bool, error){
		func() (bool, error) { return b.fleet.Trip(t.Context(), "app", "down", 0) },
		func() (bool, error) { return true, b.fleet.SetPaused(t.Context(), "app", true, ann) },
		func() (bool, error) { return b.fleet.CloseBreaker(t.Context(), "app") },
	} {
		f.Arm(fault.LoseAnswer, 1)
		changed, err := change()
		require.NoError(t, err)
		require.True(t, changed, "the try whose response was lost made the change")
		require.Equal(t, int64(n+1), sound.destination(t, "app").Epoch)
	}
	require.True(t, sound.destination(t, "app").QueuePaused)
}

// A probe is also one change: the retry after a lost response recognises the probe of the first try.
func TestProbeSurvivesALostCommit(t *testing.T) {
	t.Parallel()
	for _, mode := range []fault.Mode{fault.LoseAnswer, fault.LoseRequest, fault.Terminate} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b, sound, f := onFaultyPool(t)
			sound.register(t, fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app"})
			require.NoError(t, failure(sound.fleet.Trip(t.Context(), "app", "down", 0)))
			f.Arm(mode, 1)
			began, err := b.fleet.BeginProbe(t.Context(), "app", time.Minute)
			require.NoError(t, err)
			require.Equal(t, 1, f.Count(), "the fault did not happen")
			require.True(t, began)
			require.Equal(t, fleet.BreakerHalfOpen, sound.destination(t, "app").Breaker)
			began, err = b.fleet.BeginProbe(t.Context(), "app", time.Minute)
			require.NoError(t, err)
			require.False(t, began, "only one probe runs at a time")
		})
	}
}

// A server that shuts down in the middle of a COMMIT may have committed. A replay under new
// keys must not happen twice.
func TestReplayWithNewKeysSurvivesALostCommit(t *testing.T) {
	t.Parallel()
	for _, mode := range []fault.Mode{fault.LoseAnswer, fault.LoseRequest, fault.Terminate} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b, sound, f := onFaultyPool(t)
			id := sound.dispatched(t, "evt_1", ledger.AtLeastOnce)
			sound.settle(t, sound.granted(t, id, lease), ledger.Settlement{Verdict: ledger.VerdictDone})
			ref := identity.EventRef{Source: "stripe", EventID: "evt_1"}
			f.Arm(mode, 1)
			r, err := b.Replay(t.Context(), ref, ann, inbox.ReplayOptions{NewKeys: true})
			require.NoError(t, err)
			require.Equal(t, 1, f.Count(), "the fault did not happen")
			require.Equal(t, inbox.Replayed{Generation: 2}, r)
			require.Equal(t, 1, sound.count(t, `SELECT count(*) FROM hooklatch.event_replays WHERE generation = 2 AND new_keys`))
			require.Equal(t, 1, sound.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'dispatch' AND state = 'available' AND id > (SELECT min(id) FROM hooklatch.river_job)`))
		})
	}
}

// Many calls replay simultaneously on a small pool. If a transaction needed a second connection,
// they would block each other.
func TestReplayNeedsOneConnection(t *testing.T) {
	t.Parallel()
	sound := setup(t)
	config, err := pgxpool.ParseConfig(pgtest.URL(t, sound.pool))
	require.NoError(t, err)
	config.MaxConns = 2
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	b := onPool(t, pool)
	b.accepted(t, "stripe", "evt_1") // each replay is refused, and looks up the reason: the event still waits for its dispatch
	done := make(chan error)
	for range 8 {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			_, err := b.Replay(ctx, identity.EventRef{Source: "stripe", EventID: "evt_1"}, ann, inbox.ReplayOptions{})
			done <- err
		}()
	}
	for range 8 {
		require.ErrorIs(t, <-done, inbox.ErrNotReplayable)
	}
}
