package cluster_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema"
)

// gateway is what the gateway of one process has of the outbox.
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

// commitsAtOnce is how many commits of a server waited for its standby at the same moment,
// at most, while work was done.
func commitsAtOnce(t *testing.T, pool *pgxpool.Pool, work func()) (most int) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	for {
		select {
		case <-done:
			return most
		default:
		}
		var now int
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`).Scan(&now))
		most = max(most, now)
	}
}

// The commits of a server that notify are made one by one, and each waits for the
// standby. Those of gateways do not, and are not.
func TestGatewaysDoNotWaitForEachOtherWithADistantStandby(t *testing.T) {
	t.Parallel()
	const (
		roundTrip  = 5 * time.Millisecond
		gateways   = 4
		deliveries = 150 // of each, one after the other by each of its clients
		clients    = 2
	)
	far, err := cluster.NewDistance(roundTrip / 2)
	require.NoError(t, err)
	t.Cleanup(far.Close) // after the servers
	c := start(t, cluster.Options{Standby: true, Synchronous: true, Upstream: far.Upstream})
	database := c.Primary("postgres")
	pool, err := pgxpool.New(t.Context(), database)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	migrator, err := schema.NewMigrator(pool, schema.Default, nil)
	require.NoError(t, err)
	_, err = migrator.Up(t.Context())
	require.NoError(t, err)

	notifying := commitsAtOnce(t, pool, func() {
		var all sync.WaitGroup
		defer all.Wait()
		for range gateways {
			all.Go(func() {
				conn, err := pgx.Connect(t.Context(), database)
				if !assert.NoError(t, err) {
					return
				}
				defer func() { assert.NoError(t, conn.Close(t.Context())) }()
				for range deliveries / gateways {
					_, err := conn.Exec(t.Context(), `SELECT pg_notify('a', ''), pg_logical_emit_message(true, 'a', '')`)
					assert.NoError(t, err)
				}
			})
		}
	})
	require.Equal(t, 1, notifying, "what notifies commits one by one")

	outboxes := make([]*outbox.Outbox, gateways)
	for i := range outboxes {
		outboxes[i] = gateway(t, database)
	}
	accepting := commitsAtOnce(t, pool, func() {
		var all sync.WaitGroup
		defer all.Wait()
		for g, o := range outboxes {
			for client := range clients {
				all.Go(func() {
					for n := range deliveries {
						_, err := o.Accept(t.Context(), outbox.Delivery{
							Source: "stripe", Provider: "stripe", Body: []byte(`{}`),
							Events: []outbox.Incoming{{ID: identity.EventID(fmt.Sprintf("evt_%d_%d_%d", g, client, n)), Type: "invoice.paid"}},
						})
						assert.NoError(t, err)
					}
				})
			}
		}
	})
	t.Logf("%d notifying commits waited for the standby at once, and %d of the gateways", notifying, accepting)
	require.GreaterOrEqual(t, accepting, 3)
}
