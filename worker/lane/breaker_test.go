package lane

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

func TestBreakerCounts(t *testing.T) {
	t.Parallel()
	ok := destination.Outcome{Verdict: ledger.VerdictDone, Status: 200}
	bad := destination.Outcome{Verdict: ledger.VerdictMaybeApplied, Status: 503, Err: errors.New("HTTP 503 Service Unavailable")}
	b := Breaker{Failures: 5, MinCalls: 10}.WithDefaults()
	t.Run("InARow", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := newBreaker(b, time.Now)
			for range 4 {
				require.Empty(t, b.Record(bad, 0))
			}
			require.Empty(t, b.Record(ok, 0))
			for range 4 {
				require.Empty(t, b.Record(bad, 0))
			}
			require.Equal(t, "5 attempts in a row failed", b.Record(bad, 0))
			require.Empty(t, b.Record(bad, 0), "the count begins again")
			require.Equal(t, "1 attempt in a row failed", newBreaker(Breaker{Failures: 1}.WithDefaults(), time.Now).Record(bad, 0))
		})
	})
	t.Run("Share", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := newBreaker(b, time.Now)
			for range 4 {
				require.Empty(t, b.Record(ok, 0))
				require.Empty(t, b.Record(bad, 0))
			}
			require.Empty(t, b.Record(ok, 0), "too few calls to judge")
			require.Contains(t, b.Record(bad, 0), "5 of 10 attempts failed within 30s")
		})
	})
	t.Run("Forgets", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := newBreaker(b, time.Now)
			for range 20 { // one effect that is tried repeatedly
				require.Empty(t, b.Record(bad, 0))
				<-time.After(31 * time.Second)
			}
			for range 4 {
				require.Empty(t, b.Record(bad, 0))
			}
			b.Forget()
			require.Empty(t, b.Record(bad, 0))
		})
	})
	t.Run("Off", func(t *testing.T) {
		t.Parallel()
		off := newBreaker(Breaker{Off: true}.WithDefaults(), time.Now)
		for range 100 {
			require.Empty(t, off.Record(bad, 0))
		}
	})
	for _, c := range []struct {
		sent           destination.Outcome
		counts, failed bool
	}{
		{ok, true, false},
		{bad, true, true},
		{destination.Outcome{Verdict: ledger.VerdictNotApplied}, true, true},                // no connection
		{destination.Outcome{Verdict: ledger.VerdictNotApplied, Status: 429}, false, false}, // the receiver responds
		{destination.Outcome{Verdict: ledger.VerdictRefused, Status: 422}, true, false},
		{destination.Outcome{Verdict: ledger.VerdictRefused, Status: 401}, true, true},
		{destination.Outcome{Verdict: ledger.VerdictTurnedAway, Status: 403}, true, true},
		{destination.Outcome{Verdict: ledger.VerdictTurnedAway, Status: 404}, true, false},
		{destination.Outcome{Verdict: ledger.VerdictRefused}, false, false}, // proves nothing
	} {
		counts, failed := Counts(c.sent)
		require.Equal(t, [2]bool{c.counts, c.failed}, [2]bool{counts, failed}, "%+v", c.sent)
	}
}

// An effect that is refused while others succeed is itself at fault.
func TestBreakerIgnoresWhatIsTheEffectsOwnFault(t *testing.T) {
	t.Parallel()
	now := time.Now()
	b := newBreaker(Breaker{Failures: 2}.WithDefaults(), func() time.Time { return now })
	good := destination.Outcome{Verdict: ledger.VerdictDone, Status: 200}
	refused := destination.Outcome{Verdict: ledger.VerdictTurnedAway, Status: 403}
	down := destination.Outcome{Verdict: ledger.VerdictMaybeApplied, Status: 503}

	require.Empty(t, b.Record(good, 0))
	now = now.Add(time.Second)
	for range 10 {
		require.Empty(t, b.Record(refused, 2*time.Second), "refused before the success and after it")
	}
	require.Empty(t, b.Record(refused, 0), "refused for the first time")
	require.NotEmpty(t, b.Record(refused, time.Millisecond), "refused only since the success")
	require.Empty(t, b.Record(down, 2*time.Second))
	require.NotEmpty(t, b.Record(down, 2*time.Second), "only a refusal can be the effect's fault")
}

// The time for which a destination has failed begins at the start, not at the end, of its earliest
// failed attempt.
func TestBreakerKnowsHowLongADestinationHasFailed(t *testing.T) {
	t.Parallel()
	now := time.Now()
	good := destination.Outcome{Verdict: ledger.VerdictDone, Status: 200}
	down := destination.Outcome{Verdict: ledger.VerdictMaybeApplied, Status: 503}
	b := newBreaker(Breaker{Failures: 3, MinCalls: 4}.WithDefaults(), func() time.Time { return now })
	record := func(sent destination.Outcome, took time.Duration) time.Duration {
		reason, failing := b.RecordAttempt(sent, 0, took)
		require.Equal(t, reason != "", failing > 0)
		now = now.Add(time.Second)
		return failing
	}
	require.Zero(t, record(down, time.Hour), "a success follows")
	require.Zero(t, record(good, time.Second))
	b.Forget()
	require.Zero(t, record(down, time.Second))
	require.Zero(t, record(down, 10*time.Second))
	require.Equal(t, 11*time.Second, record(down, time.Second), "in a row")
	require.Zero(t, record(good, time.Second))
	require.Zero(t, record(down, 20*time.Second))
	require.Zero(t, record(good, time.Second))
	require.Equal(t, 22*time.Second, record(down, time.Second), "the share")
}
