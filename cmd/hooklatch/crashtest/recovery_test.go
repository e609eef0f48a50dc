package crashtest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// I5, at production settings: a worker is killed with SIGKILL while a receiver holds its requests.
// Another process finishes every effect, with the same key and body (I7), long before River would
// rescue a job. This holds for effects that a dispatch started, and for effects that a job started.
func TestRecoveryAtProductionSettings(t *testing.T) {
	t.Parallel()
	const events, effects = 5, 2 * 5
	pool, p, seen, ok := interrupted(t, events)
	for tries := 1; !ok && tries < 10; tries++ { // on a busy machine, an attempt may reach its timeout before all have begun
		pool, p, seen, ok = interrupted(t, events)
	}
	require.True(t, ok, "all attempts have begun and none has ended")
	killed := time.Now()
	p.start(t)
	require.Eventually(t, func() bool {
		return count(t, pool, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`) == effects
	}, patience, 100*time.Millisecond)
	t.Logf("%d effects recovered after %s", effects, time.Since(killed).Round(time.Second))
	require.Equal(t, effects, count(t, pool, `SELECT count(*) FROM hooklatch.all_attempts WHERE lost AND applied = 'unknown'`))
	seen.mu.Lock()
	defer seen.mu.Unlock()
	require.Len(t, seen.bodies, effects)
	for key, bodies := range seen.bodies {
		require.Len(t, bodies, 2, key)
		require.Equal(t, bodies[0], bodies[1], key)
	}
}

// interrupted returns a process that was killed while a receiver held the first attempts of two
// effects of each event. It returns false if an attempt ended before that.
func interrupted(t *testing.T, events int) (pool *pgxpool.Pool, p *process, seen *calls, ok bool) {
	t.Helper()
	effects := 2 * events
	seen = &calls{bodies: make(map[string][]string)}
	arrived := make(chan struct{}, effects)
	hold := make(chan struct{}) // closed when the process is dead
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if seen.count(r) == 1 {
			arrived <- struct{}{}
			<-hold
		}
	}))
	t.Cleanup(receiver.Close)

	pool = pgtest.New(t, pgtest.MaxConns(4))
	p = newProcess(t, pool, "serve", fmt.Sprintf("destinations:\n  app: {http: {url: %[1]q}}\n  rated: {http: {url: %[1]q}, rate: 1000/s}\nroutes:\n  - {name: born, from: stripe, to: app}\n  - {name: by_job, from: stripe, to: rated}\n", receiver.URL))
	p.start(t)
	for i := range events {
		status, _ := p.deliver(t.Context(), "invoice.paid", fmt.Sprintf("evt_%d", i))
		require.Equal(t, 200, status)
	}
	ended := `SELECT count(*) FROM hooklatch.all_attempts`
	require.Eventually(t, func() bool { return len(arrived) == effects || count(t, pool, ended) > 0 }, patience, 100*time.Millisecond)
	p.kill()
	close(hold)
	if count(t, pool, ended) > 0 {
		return pool, p, seen, false
	}
	require.Equal(t, effects, count(t, pool, `SELECT count(*) FROM hooklatch.effects WHERE state = 'started'`))
	return pool, p, seen, true
}
