package outbox

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Three processes take tokens as fast as they can, without sleeping until a token is due. The
// granted times conform to the rate. The rate is one token every two seconds, so that the delays of
// a busy machine do not matter.
func TestTokensOfTheFleet(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const perSecond, burst, callers, each, n = 0.5, 5, 3, 50, 2
	var mu sync.Mutex
	var granted []time.Time
	var all sync.WaitGroup
	for range callers {
		process := onPool(t, b.pool)
		all.Go(func() {
			for range each {
				wait, _, err := process.fleet.TakeTokens(context.Background(), "app", perSecond, burst, n, time.Hour)
				if err != nil {
					t.Errorf("take tokens: %v", err)
					return
				}
				at := time.Now().Add(wait)
				mu.Lock()
				for range n {
					granted = append(granted, at)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.SortFunc(granted, time.Time.Compare)
	took := granted[len(granted)-1].Sub(granted[0]).Seconds()
	rate := float64(len(granted)-burst) / took
	require.InDelta(t, perSecond, rate, 0.025, "%d tokens over %.1f s", len(granted), took)
	// No period of this length has more granted tokens than the rate, the burst and the delay of a
	// response allow.
	const span = 100 * time.Second
	for i := range granted {
		j, _ := slices.BinarySearchFunc(granted, granted[i].Add(span), time.Time.Compare)
		require.LessOrEqual(t, float64(j-i), perSecond*span.Seconds()+burst+5)
	}
}

func TestTokensWithoutALimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 3 {
		wait, _, err := b.fleet.TakeTokens(t.Context(), "app", 0, 1, 1, 48*time.Hour)
		require.NoError(t, err)
		require.Zero(t, wait)
	}
	wait, _, err := b.fleet.TakeTokens(t.Context(), "app", 0.001, 1, 1, 48*time.Hour)
	require.NoError(t, err)
	require.Zero(t, wait, "the first token after a quiet time is free")
	wait, _, err = b.fleet.TakeTokens(t.Context(), "app", 0.001, 1, 1, 48*time.Hour)
	require.NoError(t, err)
	require.InDelta(t, 1000, wait.Seconds(), 10)
	wait, _, err = b.fleet.TakeTokens(t.Context(), "mail", 0.001, 1, 1, 48*time.Hour)
	require.NoError(t, err)
	require.Zero(t, wait, "each destination has its own rate")
}

// The server's clock is set back by a day. The destination does not stop for that day.
func TestTokensAfterTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	take := func() time.Duration {
		t.Helper()
		wait, _, err := b.fleet.TakeTokens(t.Context(), "app", 0.01, 1, 1, 48*time.Hour) // one token every 100 s: a busy machine does not matter
		require.NoError(t, err)
		return wait
	}
	set := func(ahead time.Duration) {
		t.Helper()
		_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.destination_rates SET tat = clock_timestamp() + make_interval(secs => $1)`, ahead.Seconds())
		require.NoError(t, err)
	}
	take()
	set(30 * time.Minute)
	require.Greater(t, take(), 20*time.Minute, "many other callers may have taken tokens before")
	set(24 * time.Hour)
	require.Less(t, take(), 100*time.Second)
	require.Less(t, take(), 100*time.Second, "the rate applies from there on")
	require.Positive(t, take())
}

// A process that would have to wait too long for a token takes none. The token stays free for the
// process that has the job when the token is due.
func TestTokensThatAreTooFarAheadAreNotTaken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 2 { // the first call also inserts the destination's row
		_, taken, err := b.fleet.TakeTokens(t.Context(), "app", 0.001, 2, 1, time.Minute)
		require.NoError(t, err)
		require.True(t, taken)
	}
	for range 3 {
		wait, taken, err := b.fleet.TakeTokens(t.Context(), "app", 0.001, 2, 1, time.Minute)
		require.NoError(t, err)
		require.False(t, taken)
		require.InDelta(t, 1000, wait.Seconds(), 10)
	}
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.destination_rates SET tat = tat - interval '990 seconds'`)
	require.NoError(t, err)
	wait, taken, err := b.fleet.TakeTokens(t.Context(), "app", 0.001, 2, 1, time.Minute)
	require.NoError(t, err)
	require.True(t, taken)
	require.LessOrEqual(t, wait, 10*time.Second)
}

// After a quiet period, at most one burst of tokens is available.
func TestTokensOfAQuietTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, quiet := range []bool{false, true} {
		if quiet {
			_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.destination_rates SET tat = clock_timestamp() - make_interval(days => 1)`)
			require.NoError(t, err)
		}
		for n := range 4 {
			wait, _, err := b.fleet.TakeTokens(t.Context(), "app", 0.001, 3, 1, 48*time.Hour)
			require.NoError(t, err)
			if n < 3 {
				require.Zero(t, wait, "token %d", n)
				continue
			}
			require.InDelta(t, 1000, wait.Seconds(), 10)
		}
	}
}
