package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema"
)

// gateway returns an outbox with its own connection pool, as in a gateway process.
func gateway(t *testing.T, url string) *outbox.Outbox {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	commit.PreparePool(config)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	o, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, o.Stop(context.Background())) })
	return o
}

// several is the minimum number of simultaneous waits that shows independent commits.
const several = 3

// commitsAtOnce calls the function work. Meanwhile it checks repeatedly how many commits of a
// server wait for its standby. It returns the share of checks that found several such commits. A
// check of all processes is not atomic, so a few checks count one commit too many.
func commitsAtOnce(t *testing.T, pool *pgxpool.Pool, work func()) float64 {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	looks, many := 0, 0
	for {
		select {
		case <-done:
			require.NotZero(t, looks)
			return float64(many) / float64(looks)
		default:
		}
		var now int
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`).Scan(&now))
		if looks++; now >= several {
			many++
		}
	}
}

// notify runs the given number of notifying transactions, one after another.
func notify(ctx context.Context, database string, commits int) error {
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return err
	}
	for range commits {
		if _, err := conn.Exec(ctx, `SELECT pg_notify('a', ''), pg_logical_emit_message(true, 'a', '')`); err != nil {
			return errors.Join(err, conn.Close(ctx))
		}
	}
	return conn.Close(ctx)
}

// Postgres runs notifying commits one by one, and each waits for the standby. Gateways' commits do
// not notify, so they run simultaneously.
func TestGatewaysDoNotWaitForEachOtherWithADistantStandby(t *testing.T) {
	t.Parallel()
	const (
		roundTrip  = 5 * time.Millisecond
		gateways   = 4
		deliveries = 150 // deliveries of each client, one after another
		clients    = 2
	)
	far, err := cluster.NewDistance(roundTrip / 2)
	require.NoError(t, err)
	t.Cleanup(far.Close) // runs after the servers have stopped
	c := start(t, cluster.Options{Standby: true, Synchronous: true, Upstream: far.Upstream})
	database := c.Primary("postgres")
	pool, err := pgxpool.New(t.Context(), database)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	migrator, err := schema.NewMigrator(pool, schema.Default, nil)
	require.NoError(t, err)
	_, err = migrator.Up(t.Context())
	require.NoError(t, err)

	const tries = 10 // a busy machine interrupts checks, and slows down the clients more than it slows down the standby
	notifying := 1.0
	for try := 0; try < tries && notifying >= 0.05; try++ {
		notifying = commitsAtOnce(t, pool, func() {
			var all sync.WaitGroup
			defer all.Wait()
			for range gateways {
				all.Go(func() {
					if err := notify(t.Context(), database, deliveries/gateways); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}

	outboxes := make([]*outbox.Outbox, gateways)
	for i := range outboxes {
		outboxes[i] = gateway(t, database)
	}
	accepting := 0.0
	for try := 0; try < tries && accepting <= 0.2; try++ {
		accepting = commitsAtOnce(t, pool, func() {
			var all sync.WaitGroup
			defer all.Wait()
			for g, o := range outboxes {
				for client := range clients {
					all.Go(func() {
						for n := range deliveries {
							_, err := o.Accept(t.Context(), outbox.Delivery{
								Source: "stripe", Provider: "stripe", Body: []byte(`{}`),
								Events: []outbox.Incoming{{ID: identity.EventID(fmt.Sprintf("evt_%d_%d_%d_%d", try, g, client, n)), Type: "invoice.paid"}},
							})
							if err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
			}
		})
	}
	t.Logf("several commits waited for the standby in %.2f of the checks when commits notify, in %.2f when gateways accept", notifying, accepting)
	require.Less(t, notifying, 0.05, "notifying transactions commit one by one")
	require.Greater(t, accepting, 0.2)
}
