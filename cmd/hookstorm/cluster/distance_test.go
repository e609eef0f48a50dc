package cluster_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
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

	const notifications = 40
	began := time.Now()
	for range notifications {
		_, err := pool.Exec(t.Context(), `SELECT pg_notify('a', ''), pg_logical_emit_message(true, 'a', '')`)
		require.NoError(t, err)
	}
	alone := time.Since(began) / notifications
	require.GreaterOrEqual(t, alone, roundTrip)

	outboxes := make([]*outbox.Outbox, gateways)
	for i := range outboxes {
		outboxes[i] = gateway(t, database)
	}
	accept := func(o *outbox.Outbox, id string) {
		_, err := o.Accept(t.Context(), outbox.Delivery{
			Source: "stripe", Provider: "stripe", Body: []byte(`{}`),
			Events: []outbox.Incoming{{ID: identity.EventID(id), Type: "invoice.paid"}},
		})
		require.NoError(t, err)
	}
	var all sync.WaitGroup
	began = time.Now()
	for g, o := range outboxes {
		for client := range clients {
			all.Go(func() {
				for n := range deliveries {
					accept(o, fmt.Sprintf("evt_%d_%d_%d", g, client, n))
				}
			})
		}
	}
	all.Wait()
	took := time.Since(began)

	var transactions int
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(DISTINCT xmin::text) FROM hooklatch.processed_events`).Scan(&transactions))
	atOnce := float64(transactions) * alone.Seconds() / took.Seconds()
	t.Logf("%d events in %d transactions in %s; a notifying commit takes %s: %.1f at once", gateways*clients*deliveries, transactions, took, alone, atOnce)
	require.GreaterOrEqual(t, atOnce, 3.0)
}
