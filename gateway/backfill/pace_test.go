package backfill

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A pass rests for most of the time while it stores events, so that live events do not wait
// behind backfilled ones. It does not rest for events that are already stored.
func TestAPassRestsAfterEachBatchItStores(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	w.happen(5*batchItems, "invoice.paid", func(int) int { return 0 })
	var rests []time.Duration
	w.backfill.sleep = func(_ context.Context, d time.Duration) { rests = append(rests, d) }
	began := time.Now()
	run, err := w.backfill.Run(t.Context(), w.source.Name, Order{By: "ann"})
	require.NoError(t, err)
	worked := time.Since(began)
	require.EqualValues(t, 5*batchItems, run[0].Recovered)
	require.Len(t, rests, 5)
	rested := time.Duration(0)
	for _, rest := range rests {
		require.Positive(t, rest)
		require.LessOrEqual(t, rest, longestRest)
		rested += rest
	}
	require.LessOrEqual(t, rested, restTimes*worked)

	rests = nil
	again, err := w.backfill.Run(t.Context(), w.source.Name, Order{By: "ann"})
	require.NoError(t, err)
	require.EqualValues(t, 5*batchItems, again[0].Known)
	require.Empty(t, rests)
}

// Rests never keep a pass from storing what it has read.
func TestRestsLeaveTimeForTheBatchesAhead(t *testing.T) {
	t.Parallel()
	const took = 10 * time.Millisecond
	for _, ahead := range []int{0, 1, 99, 198} {
		left := 2 * time.Second
		for n := ahead; n >= 0; n-- {
			if pause := affordable(took, left, n); pause > 0 {
				left -= pause
			}
			if n > 0 {
				left -= took
			}
		}
		require.GreaterOrEqual(t, left, time.Duration(0), "%d batches ahead", ahead)
	}
	require.Negative(t, affordable(took, time.Second, 200), "no time is left to rest")
}
