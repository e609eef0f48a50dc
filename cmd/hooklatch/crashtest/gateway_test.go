package crashtest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// I1: a gateway is killed with SIGKILL under load 20 times. Every delivery that was answered with
// 2xx is in the database, with its bytes and its job, and a repeat is a duplicate.
func TestKilledGatewayLosesNothingItAcknowledged(t *testing.T) {
	t.Parallel()
	const kills, clients = 20, 16
	pool := pgtest.New(t, pgtest.MaxConns(4))
	g := newProcess(t, pool, "gateway", forward)

	var mu sync.Mutex
	acknowledged := make(map[string]bool)
	unanswered := 0
	for round := range kills {
		g.start(t)
		before := len(acknowledged)
		enough := make(chan struct{}) // closed when the round has some responses
		killed := make(chan struct{}) // closed before the process is killed
		var once sync.Once
		var sending sync.WaitGroup
		for client := range clients {
			sending.Go(func() {
				for n := 0; ; n++ {
					id := fmt.Sprintf("evt_%d_%d_%d", round, client, n)
					status, _ := g.deliver(t.Context(), "invoice.paid", id)
					mu.Lock()
					switch status {
					case 200:
						acknowledged[id] = true
					case 0:
						select {
						case <-killed:
							unanswered++
							mu.Unlock()
							return
						default: // on a busy machine, the gateway cuts off a sender that is too slow
						}
					default:
						t.Errorf("%s was answered %d", id, status)
					}
					if len(acknowledged) >= before+40 {
						once.Do(func() { close(enough) })
					}
					mu.Unlock()
				}
			})
		}
		<-enough
		<-time.After(time.Duration(rand.IntN(10_000)) * time.Microsecond) // kill the process at a random moment
		process := g.cmd.Process
		close(killed)
		require.NoError(t, process.Kill())
		sending.Wait()
		g.kill()
	}

	t.Logf("%d kills, %d acknowledged, %d without an answer", kills, len(acknowledged), unanswered)
	require.GreaterOrEqual(t, len(acknowledged), 40*kills)
	require.GreaterOrEqual(t, unanswered, kills, "the kills met no request")
	rows, err := pool.Query(t.Context(), `
		SELECT p.event_id
		FROM hooklatch.processed_events AS p
		JOIN hooklatch.deliveries AS d ON d.delivery_id = p.delivery_id AND d.received_at = p.received_at
		JOIN hooklatch.river_job AS j ON j.kind = 'dispatch' AND j.args ->> 'event_id' = p.event_id
		WHERE p.source = 'stripe' AND convert_from(d.body, 'UTF8')::jsonb ->> 'id' = p.event_id`)
	require.NoError(t, err)
	whole, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	times := make(map[string]int)
	for _, id := range whole {
		times[id]++
	}
	for id := range acknowledged {
		require.Equal(t, 1, times[id], id)
	}
	stored := count(t, pool, `SELECT count(*) FROM hooklatch.processed_events`)
	require.Equal(t, stored, count(t, pool, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'dispatch'`))
	require.Equal(t, stored, count(t, pool, `SELECT count(*) FROM hooklatch.deliveries`))

	g.start(t)
	again := 0
	for id := range acknowledged {
		status, result := g.deliver(t.Context(), "invoice.paid", id)
		require.Equal(t, 200, status)
		require.Equal(t, "duplicate", result)
		if again++; again == 100 {
			break
		}
	}
	require.Equal(t, stored, count(t, pool, `SELECT count(*) FROM hooklatch.processed_events`))
}

// I2: many senders deliver the same ids in shuffled order through two gateway processes. Each id is
// accepted once.
func TestTwoGatewaysAcceptEachEventOnce(t *testing.T) {
	t.Parallel()
	const ids, parallel, rounds = 8, 64, 4
	pool := pgtest.New(t, pgtest.MaxConns(4))
	gateways := []*process{newProcess(t, pool, "gateway", forward), newProcess(t, pool, "gateway", forward)}
	for _, g := range gateways {
		g.start(t)
	}
	deadlocks := `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`
	before := count(t, pool, deadlocks)
	for round := range rounds {
		var mu sync.Mutex
		accepted := make(map[string]int)
		var sending sync.WaitGroup
		for i := range parallel {
			sending.Go(func() {
				for _, n := range rand.Perm(ids) {
					id := fmt.Sprintf("evt_%d_%d", round, n)
					status, result := gateways[i%2].deliver(t.Context(), "invoice.paid", id)
					if status != 200 {
						t.Errorf("%s was answered %d", id, status)
					}
					if result == "accepted" {
						mu.Lock()
						accepted[id]++
						mu.Unlock()
					}
				}
			})
		}
		sending.Wait()
		require.Len(t, accepted, ids)
		for id, n := range accepted {
			require.Equal(t, 1, n, id)
		}
	}
	require.Equal(t, ids*rounds, count(t, pool, `SELECT count(*) FROM hooklatch.processed_events`))
	require.Equal(t, ids*rounds, count(t, pool, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'dispatch'`))
	require.Equal(t, before, count(t, pool, deadlocks), "no deadlock occurred")
}
