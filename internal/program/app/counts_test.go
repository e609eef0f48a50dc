package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A stop stores the last counts. It does not wait for the end of the period after which a running
// process stores them. On a busy machine, a stop may lack the time to store them, so the test
// repeats it.
func TestAStopStoresTheLastCounts(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	f := newFile(t, pgtest.URL(t, pool))
	f.write(t, first)
	stored := func() (n int) {
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT COALESCE(sum(n), 0) FROM hooklatch.minutes WHERE kind = 'source' AND what = 'accepted'`).Scan(&n))
		return n
	}
	period := func() time.Time { return time.Now().Truncate(measure.AddEvery) }
	for began := time.Now(); time.Since(began) < patience; {
		a := started(t, f, &syncBuffer{}, func(o *app.Options) { o.Worker = false })
		before, during := stored(), period()
		deliver(t, a, "stripe", "the-first-secret")
		require.NoError(t, a.Stop(t.Context()))
		if stored() == before+1 && period().Equal(during) {
			return
		}
	}
	require.Fail(t, "no stop has stored its counts")
}
