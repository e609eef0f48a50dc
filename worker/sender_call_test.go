package worker

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/lane"
	"github.com/hooklatch/hooklatch/worker/route"
)

// deafSender never checks its context. Its first calls block until they are released.
type deafSender struct {
	fakeSender

	blocked  int32
	calls    atomic.Int32
	returned atomic.Int32
	release  chan struct{}
}

func (s *deafSender) Send(context.Context, *ledger.Effect) destination.Outcome {
	if s.calls.Add(1) <= s.blocked {
		<-s.release
		defer s.returned.Add(1)
	}
	return destination.Outcome{Verdict: ledger.VerdictDone}
}

// deaf adds a destination whose first calls block, and a route that sends every event to it.
func (b *bundle) deaf(t *testing.T, blocked int32, change ...func(*DestinationOptions)) *deafSender {
	t.Helper()
	s := &deafSender{fakeSender: "http", blocked: blocked, release: make(chan struct{})}
	t.Cleanup(func() {
		select {
		case <-s.release:
		default:
			close(s.release)
		}
	})
	d := DestinationOptions{
		Name: "app", Sender: s, Concurrency: 2, Timeout: time.Second, // leaves time for calls that return, on a busy machine
		Retry: destination.Schedule{Initial: time.Millisecond, Jitter: -1}, Breaker: lane.Breaker{Off: true},
	}
	for _, f := range change {
		f(&d)
	}
	b.opts.Destinations = append(b.opts.Destinations, d)
	b.opts.Routes = append(b.opts.Routes, route.Route{Name: "everything", From: []string{"*"}, To: "app"})
	return s
}

// impatient returns a Worker that abandons a sender a second after its timeout.
func (b *bundle) impatient(t *testing.T) *Worker {
	t.Helper()
	w := b.worker(t)
	w.attempts.patience = time.Second
	return w
}

// A sender that never returns holds its slot only until its attempt is abandoned, whether the
// attempt began with a job or with a dispatch.
func TestASenderThatNeverReturnsFreesItsSlot(t *testing.T) {
	t.Parallel()
	for policy, end := range map[ledger.Policy]ledger.EffectState{
		ledger.AtLeastOnce: ledger.EffectInDoubt,
		ledger.AtMostOnce:  ledger.EffectParked,
	} {
		for _, born := range []bool{false, true} {
			t.Run(fmt.Sprint(policy, born), func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				s := b.deaf(t, 2, func(d *DestinationOptions) { d.Policy = policy })
				counts, err := measure.NewCounts(measure.CountsOptions{Pool: b.pool})
				require.NoError(t, err)
				b.opts.Minutes = counts
				w := b.impatient(t)
				w.births.off = !born
				b.start(t, w)
				for i := range 2 {
					b.accept(t, fmt.Sprint("evt_", i), false)
				}
				waitFor(t, b, `SELECT (count(*) = 2)::integer FROM hooklatch.effects WHERE state = $1`, string(end))
				if policy == ledger.AtLeastOnce { // on a busy machine, the test outlasts the leases, after which the jobs would run again
					waitFor(t, b, `SELECT (count(*) = 2)::integer FROM hooklatch.river_job WHERE kind = 'effect' AND state IN ('retryable', 'scheduled')`)
					_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.river_job SET scheduled_at = scheduled_at + interval '1 hour' WHERE kind = 'effect'`)
					require.NoError(t, err)
				}
				for i := range 4 {
					b.accept(t, fmt.Sprint("later_", i), false)
				}
				waitFor(t, b, `SELECT (count(*) = 4)::integer FROM hooklatch.effects WHERE state = 'done'`)
				l := w.lanes["app"]
				require.EqualValues(t, 2, l.Abandoned())
				require.EqualValues(t, 2, b.counted(t, "hooklatch.effect.abandoned", map[string]any{"destination": "app"}))
				require.Len(t, b.lines(t, "attempt abandoned: its sender did not return"), 2)
				require.NoError(t, counts.Stop(t.Context()))
				require.Equal(t, 2, b.count(t, `SELECT sum(n) FROM hooklatch.minutes WHERE kind = 'destination' AND name = 'app' AND what = 'abandoned'`))
				require.Equal(t, 2, b.count(t, `SELECT count(*) FROM hooklatch.all_attempts WHERE applied = 'unknown' AND error LIKE 'the sender did not return%'`))
				if policy == ledger.AtLeastOnce {
					require.Equal(t, 2, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'in_doubt' AND next_attempt_at > last_attempt_at + interval '5 seconds'`),
						"no other attempt begins within the lease")
				}
				before := b.count(t, `SELECT sum(attempt) FROM hooklatch.effects`)

				close(s.release) // the calls return, and no effect changes
				require.Eventually(t, func() bool { return l.Abandoned() == 0 }, 2*time.Minute, time.Millisecond)
				stop(t, w)
				require.EqualValues(t, 2, s.returned.Load())
				require.Zero(t, l.Taken())
				require.Equal(t, 2, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = $1`, string(end)))
				require.Equal(t, before, b.count(t, `SELECT sum(attempt) FROM hooklatch.effects`))
			})
		}
	}
}

// An effect whose attempt was abandoned is tried again with the same key when the lease has ended.
func TestAnAbandonedAttemptIsRepeatedAfterItsLease(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deaf(t, 1)
	w := b.impatient(t)
	b.start(t, w)
	b.accept(t, "evt_1", false)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE state = 'in_doubt'`)
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.effects SET next_attempt_at = now()`)
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `UPDATE hooklatch.river_job SET scheduled_at = now(), state = 'available' WHERE kind = 'effect' AND state IN ('retryable', 'scheduled')`)
	require.NoError(t, err)
	// On a busy machine, an attempt may end before its call, so that a later attempt is the second call.
	waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done' AND attempt >= 2`)
}

// A stop does not wait for an abandoned sender, and waits only briefly for a cancelled sender that
// does not return.
func TestStopWaitsForNoDeafSender(t *testing.T) {
	t.Parallel()
	for _, born := range []bool{false, true} {
		for _, abandoned := range []bool{false, true} {
			t.Run(fmt.Sprint(born, abandoned), func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				b.opts.SoftStop = time.Millisecond
				s := b.deaf(t, 1, func(d *DestinationOptions) {
					if !abandoned {
						d.Timeout = time.Hour
					}
				})
				w := b.impatient(t)
				w.births.off = !born
				b.start(t, w)
				b.accept(t, "evt_1", false)
				if abandoned {
					waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE state = 'in_doubt'`)
				} else {
					require.Eventually(t, func() bool { return s.calls.Load() == 1 }, 2*time.Minute, time.Millisecond)
				}
				stop(t, w)
				require.EqualValues(t, 1, w.lanes["app"].Abandoned())
				require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'in_doubt'`))
				require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE state = 'running'`))
			})
		}
	}
}

// If calls to a destination never return, the number of abandoned calls stays limited.
func TestAbandonedCallsAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const slots = 4
	s := b.deaf(t, 1<<30, func(d *DestinationOptions) {
		d.Concurrency, d.Timeout = slots, time.Millisecond
		d.Breaker = lane.Breaker{Failures: 1 << 20, MinCalls: 1 << 20}
	})
	b.to(t, func(http.ResponseWriter, *http.Request) {}, func(d *DestinationOptions) { d.Name = "other" })
	b.opts.Routes[1].To, b.opts.Routes[1].Name = "other", "other"
	w := b.impatient(t)
	w.attempts.patience = time.Millisecond
	b.start(t, w)
	const events = lane.LeastAbandoned + 4*slots
	for i := range events {
		b.accept(t, fmt.Sprint("evt_", i), false)
	}
	l := w.lanes["app"]
	require.Eventually(t, l.Stuck, 2*time.Minute, time.Millisecond)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.destinations WHERE name = 'app' AND breaker_state <> 'closed' AND breaker_reason LIKE '%were abandoned%'`)
	waitFor(t, b, fmt.Sprintf(`SELECT (count(*) = %d)::integer FROM hooklatch.effects WHERE destination = 'other' AND state = 'done'`, events))
	require.Eventually(t, func() bool { return l.Taken() == 0 }, 2*time.Minute, time.Millisecond)
	require.LessOrEqual(t, s.calls.Load(), int32(lane.LeastAbandoned+slots))
	require.Zero(t, l.Room(time.Now()))
	_, begins := l.BeginFirst(time.Now())
	require.False(t, begins)
	require.Error(t, l.Enter(t.Context()))
	close(s.release)
	require.Eventually(t, func() bool { return !l.Stuck() && l.Room(time.Now()) == slots }, 2*time.Minute, time.Millisecond)
}

// deafStatement is a Transactional sender whose first call does not return until release is
// closed.
type deafStatement struct {
	fakeSender

	calls   atomic.Int32
	release chan struct{}
}

func (s *deafStatement) Run(ctx context.Context, tx pgx.Tx, _ *ledger.Effect) (destination.Outcome, error) {
	if s.calls.Add(1) > 1 {
		return destination.Outcome{Verdict: ledger.VerdictDone}, nil
	}
	// On a busy machine, ctx may end during the statement. That must not end the call.
	if _, err := tx.Exec(context.WithoutCancel(ctx), `CREATE TABLE public.half_done ()`); err != nil {
		return destination.Outcome{}, err
	}
	<-s.release
	return destination.Outcome{Verdict: ledger.VerdictDone}, nil
}

// An abandoned statement is rolled back, and executed only once.
func TestAnAbandonedStatementIsRolledBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := &deafStatement{fakeSender: "sql", release: make(chan struct{})}
	t.Cleanup(func() { close(s.release) })
	b.opts.Destinations = []DestinationOptions{{
		Name: "books", Sender: s, Concurrency: 1, Timeout: 10 * time.Second, // enough for claim, write and commit on a busy machine
		Retry: destination.Schedule{Initial: time.Hour, Jitter: -1},
	}}
	b.opts.Routes = []route.Route{{Name: "credit", From: []string{"*"}, To: "books", SQL: &route.SQLStatement{Params: []string{"event.id"}}}}
	w := b.impatient(t)
	b.start(t, w)
	b.accept(t, "evt_1", false)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE state = 'pending' AND attempt = 1`)
	require.EqualValues(t, 1, s.calls.Load())
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.all_attempts WHERE applied = 'no' AND error LIKE 'the sender did not return%'`))
	require.Equal(t, 1, b.count(t, `SELECT (to_regclass('public.half_done') IS NULL)::integer`))
	b.accept(t, "evt_2", false)
	waitFor(t, b, effectDone)
	stop(t, w)
}

func TestCallSender(t *testing.T) {
	t.Parallel()
	call := func(ctx context.Context, t *testing.T, f func(context.Context) int) (n int, took time.Duration, l *served, err error) {
		t.Helper()
		l = serve(DestinationOptions{Concurrency: 1}, nil)
		began := time.Now()
		n, err = callSender(ctx, l, bounds{15 * time.Second, senderPatience}, f)
		return n, time.Since(began), l, err
	}
	t.Run("WaitsForAnAnswerPastTheTimeOut", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			n, took, l, err := call(t.Context(), t, func(ctx context.Context) int {
				<-ctx.Done()
				<-time.After(3 * time.Second)
				return 7
			})
			require.NoError(t, err)
			require.Equal(t, 7, n)
			require.Equal(t, 18*time.Second, took)
			require.Zero(t, l.Abandoned())
		})
	})
	t.Run("AbandonsAfterItsPatience", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			_, took, l, err := call(t.Context(), t, func(context.Context) int {
				<-time.After(time.Hour)
				return 7
			})
			require.EqualError(t, err, "the sender did not return within its timeout of 15s plus 4s: the attempt was abandoned")
			require.Equal(t, 19*time.Second, took)
			require.EqualValues(t, 1, l.Abandoned())
			<-time.After(time.Hour)
			synctest.Wait()
			require.Zero(t, l.Abandoned())
		})
	})
	t.Run("AbandonsSoonerWhenStopped", func(t *testing.T) {
		t.Parallel()
		for after, want := range map[time.Duration]time.Duration{time.Second: 4 * time.Second, 16 * time.Second: 19 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(after, cancel)
				_, took, _, err := call(ctx, t, func(context.Context) int {
					<-time.After(time.Minute)
					return 7
				})
				require.True(t, isAbandoned(err))
				require.Equal(t, want, took)
				<-time.After(time.Minute)
			})
		}
	})
	t.Run("KeepsAPanic", func(t *testing.T) {
		t.Parallel()
		_, _, _, err := call(t.Context(), t, func(context.Context) int { panic("a bug") })
		require.ErrorContains(t, err, "panic: ")
		require.False(t, isAbandoned(err))
	})
}
