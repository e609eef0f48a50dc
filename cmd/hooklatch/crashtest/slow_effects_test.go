package crashtest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// slowStatement configures an sql destination whose effects keep a transaction open until a lock is
// free. The destination's concurrency is the number of effects.
const slowStatement = `
destinations:
  books: {sql: {statements: {wait: "SELECT pg_advisory_xact_lock_shared(1)"}}, timeout: 30s, concurrency: %d}
routes:
  - {name: slow, from: stripe, types: [test.slow], to: books, sql: {statement: wait}}
`

// Effects in Hooklatch's own Postgres hold a connection while they run. In a process that also
// accepts deliveries, deliveries must not wait for effects.
//
// Every test run has one short round. In that round, a delivery would never get a response if
// accepting it waited for the statements. HOOKLATCH_LONG=1 runs three rounds of 5 seconds and
// compares the medians with and without the statements.
func TestAcceptingDoesNotWaitForSlowSQLEffects(t *testing.T) {
	t.Parallel()
	const effects = 40
	rounds, seconds := 1, 2
	if long() {
		rounds, seconds = 3, 5
	}
	pool := pgtest.New(t, pgtest.MaxConns(4))
	p := newProcess(t, pool, "serve", fmt.Sprintf(slowStatement, effects))
	p.start(t)

	var quiet, busy []time.Duration
	for round := range rounds {
		quiet = append(quiet, p99(p.deliverFor(t, time.Duration(seconds)*time.Second, fmt.Sprintf("quiet_%d", round))))
		lock, err := pool.Begin(t.Context())
		require.NoError(t, err)
		_, err = lock.Exec(t.Context(), `SELECT pg_advisory_xact_lock(1)`)
		require.NoError(t, err)
		for i := range effects {
			status, _ := p.deliver(t.Context(), "test.slow", fmt.Sprintf("slow_%d_%d", round, i))
			require.Equal(t, 200, status)
		}
		// Postgres shows how many statements are running. The ledger records the effects only
		// when their transactions end.
		require.Eventually(t, func() bool { return waiting(t, pool) == effects }, patience, 5*time.Millisecond, "not all effects run simultaneously")
		busy = append(busy, p99(p.deliverFor(t, time.Duration(seconds)*time.Second, fmt.Sprintf("busy_%d", round))))
		require.Equal(t, effects, waiting(t, pool), "not all effects ran all the time")
		require.NoError(t, lock.Rollback(t.Context()))
		require.Eventually(t, func() bool {
			return count(t, pool, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`) == effects*(round+1)
		}, patience, 20*time.Millisecond, "the effects are not done")
	}
	t.Logf("p99 of accepting, medians of %d: quiet %s, beside %d statements %s", rounds, median(quiet), effects, median(busy))
	if long() {
		require.LessOrEqual(t, median(busy), max(3*median(quiet), 100*time.Millisecond))
	}
}

func waiting(t *testing.T, pool *pgxpool.Pool) int {
	t.Helper()
	return count(t, pool, `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND state = 'active' AND query LIKE '%pg_advisory_xact_lock_shared(%' AND pid <> pg_backend_pid()`)
}

// deliverFor delivers events of the type test.quick from four senders for a duration, and requires
// 200 for each. It returns the time that each delivery took.
func (g *process) deliverFor(t *testing.T, length time.Duration, name string) []time.Duration {
	t.Helper()
	const senders, pause = 4, 10 * time.Millisecond
	var mu sync.Mutex
	var took []time.Duration
	var sending sync.WaitGroup
	end := time.Now().Add(length)
	for sender := range senders {
		sending.Go(func() {
			for n := 0; time.Now().Before(end); n++ {
				start := time.Now()
				status, _ := g.deliver(t.Context(), "test.quick", fmt.Sprintf("%s_%d_%d", name, sender, n))
				if status != 200 {
					t.Errorf("%s: answered %d after %s", name, status, time.Since(start))
					return
				}
				mu.Lock()
				took = append(took, time.Since(start))
				mu.Unlock()
				<-time.After(pause)
			}
		})
	}
	sending.Wait()
	require.NotEmpty(t, took, name)
	return took
}

func p99(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[len(took)*99/100]
}

func median[T int | float64 | time.Duration](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}
