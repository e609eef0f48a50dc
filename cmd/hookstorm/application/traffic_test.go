package application_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/application"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// The application's effects match exactly the transactions that committed according to the history,
// even while the test terminates the application's connections.
func TestEffectsAreThoseOfCommittedTransactions(t *testing.T) {
	t.Parallel()
	const enough, between = 400, 4 // transactions, and those that must commit before a connection is terminated
	pool, _ := newDatabase(t)
	records := newRecords()
	traffic, err := application.NewTraffic(t.Context(), application.TrafficOptions{
		History: records.Writer, DatabaseURL: secret.New(pgtest.URL(t, pool)), Seed: 1, Rate: 1000,
	})
	require.NoError(t, err)
	traffic.Start(t.Context())
	t.Cleanup(traffic.Stop)
	terminated := traffic.Committed()
	require.Eventually(t, func() bool {
		committed := traffic.Committed()
		if committed < terminated+between {
			return false
		}
		terminated = committed
		_, err := pool.Exec(t.Context(), `
			SELECT pg_terminate_backend(pid)
			FROM (SELECT pid FROM pg_stat_activity WHERE application_name = 'hookstorm application' AND datname = current_database()
				ORDER BY random() LIMIT 1) AS one`)
		require.NoError(t, err)
		return committed >= enough
	}, 5*time.Minute, time.Millisecond)
	traffic.Stop()
	traffic.Stop()

	type outcome struct {
		hash    string
		ok, may bool // may: the outcome is unknown
	}
	told := map[string]outcome{}
	kinds := map[string]int{}
	for _, r := range records.list() {
		require.Equal(t, history.OpEnqueue, r.Op)
		e := told[r.Enqueue.Key]
		e.hash = r.Enqueue.Hash
		e.ok = e.ok || r.Kind == history.OK
		e.may = e.may || r.Kind == history.Unknown
		told[r.Enqueue.Key] = e
		kinds[string(r.Kind)]++
		kinds[r.Enqueue.Via]++
		if r.Enqueue.Rollback {
			kinds["rollback"]++
			require.Equal(t, history.Fail, r.Kind)
		}
	}
	t.Log(kinds)
	for _, kind := range []string{"ok", "fail", "unknown", "go", "sql", "sql_bytes", "rollback"} {
		require.Positive(t, kinds[kind], kind)
	}
	effects := collect[string](t, pool, `SELECT key FROM hooklatch.effects WHERE scope = 'enqueue:direct' ORDER BY key`)
	require.Equal(t, effects, collect[string](t, pool, `SELECT key FROM torture.orders_of_application ORDER BY key`), "an effect exists if its row does")
	stored := map[string]bool{}
	for _, key := range effects {
		stored[key] = true
		require.True(t, told[key].ok || told[key].may, "%s has an effect, and no transaction that may have committed", key)
		var body []byte
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT request_body FROM hooklatch.effects WHERE key = $1`, key).Scan(&body))
		sum := sha256.Sum256(body)
		require.Equal(t, told[key].hash, hex.EncodeToString(sum[:]), string(body))
	}
	for key, e := range told {
		require.True(t, stored[key] || !e.ok, "%s committed and has no effect", key)
	}
}

func TestTrafficStopsBeforeItStarts(t *testing.T) {
	t.Parallel()
	traffic, err := application.NewTraffic(t.Context(), application.TrafficOptions{
		History: newRecords().Writer, DatabaseURL: secret.New("postgres://nobody@127.0.0.1:1/none"),
	})
	require.NoError(t, err)
	traffic.Stop()
	_, err = application.NewTraffic(t.Context(), application.TrafficOptions{History: newRecords().Writer})
	require.ErrorContains(t, err, "DatabaseURL")
}
