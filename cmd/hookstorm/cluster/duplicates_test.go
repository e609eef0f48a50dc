package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema"
)

// A gateway recognises a duplicate without querying the database. It queries again after the
// database has moved to another server or has been restarted, because acknowledged events may have
// been lost. The test deletes a row to simulate such a loss.
func TestDuplicatesAreLookedUpAfterAPromotionAndARestart(t *testing.T) {
	t.Parallel()
	c, url := proxied(t, cluster.Options{Durable: true, Standby: true})
	migrate(t, c)
	box := gateway(t, url)
	accept := func(id string) (outbox.Acceptance, error) {
		return box.Accept(context.Background(), outbox.Delivery{
			Source: "stripe", Provider: "stripe", Body: []byte(`{}`), Events: []outbox.Incoming{{ID: identity.EventID(id), Type: "x"}},
		})
	}
	for name, change := range map[string]func() error{
		"restart":   func() error { return c.Restart(t.Context(), cluster.Fast) },
		"promotion": func() error { return c.Promote(t.Context(), cluster.Killed) },
	} {
		var ids []string
		for n := range 10 {
			id := fmt.Sprintf("evt_%s_%d", name, n)
			ids = append(ids, id)
			require.Eventually(t, func() bool {
				if _, err := accept(id); err != nil {
					return false
				}
				conn := connect(t, c.Primary("postgres"))
				_, err := conn.Exec(t.Context(), `DELETE FROM hooklatch.processed_events WHERE event_id = $1`, id)
				require.NoError(t, errors.Join(err, conn.Close(t.Context())))
				a, err := accept(id)
				return err == nil && a.New() == 0 // the event is a duplicate, although its row is deleted
			}, 2*time.Minute, time.Millisecond, name)
		}
		if name == "promotion" {
			replicated(t, c)
		}
		require.NoError(t, change(), name)
		require.Eventually(t, func() bool {
			_, err := accept("evt_" + name)
			return err == nil
		}, 2*time.Minute, 10*time.Millisecond)
		for range 100 { // only duplicates make the gateway query the database's identity
			_, err := accept("evt_" + name)
			require.NoError(t, err)
			time.Sleep(15 * time.Millisecond) //nolint:forbidigo // a rate needs time
		}
		for _, id := range ids {
			a, err := accept(id)
			require.NoError(t, err)
			require.Equal(t, 1, a.New(), id)
		}
	}
}

// replicated waits until the standby has all data of the primary. Otherwise the deletion of a row
// could be lost with the primary, and the event would still be a duplicate.
func replicated(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	conn := connect(t, c.Primary("postgres"))
	var at string
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT pg_current_wal_lsn()::text`).Scan(&at))
	require.Eventually(t, func() bool {
		var has bool
		err := conn.QueryRow(t.Context(), `SELECT COALESCE(bool_and(replay_lsn >= $1::pg_lsn), false) FROM pg_stat_replication`, at).Scan(&has)
		return err == nil && has
	}, 2*time.Minute, 10*time.Millisecond)
	require.NoError(t, conn.Close(t.Context()))
}

func migrate(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), c.Primary("postgres"))
	require.NoError(t, err)
	defer pool.Close()
	migrator, err := schema.NewMigrator(pool, schema.Default, nil)
	require.NoError(t, err)
	_, err = migrator.Up(t.Context())
	require.NoError(t, err)
}
