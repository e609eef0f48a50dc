package application_test

import (
	"cmp"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/application"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// The history agrees with the operator log after random operator actions, and no destination
// stays paused.
func TestOrdersAreThoseOfTheOperatorLog(t *testing.T) {
	t.Parallel()
	pool, box := newDatabase(t)
	var calls atomic.Int64
	program, config := newProgram(t, pool, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1)%3 == 0 {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	startProgram(t, program)
	for i := range 60 {
		accept(t, box, []string{"orders", "poison", "handled"}[i%3], fmt.Sprintf("evt_%d", i))
	}
	records := newRecords()
	operator, err := application.NewOperator(t.Context(), application.OperatorOptions{
		History: records.Writer, DatabaseURL: secret.New(pgtest.URL(t, pool)), Seed: 7, Rate: 100,
		Binary: build(t, "hooklatch"), Config: config,
	})
	require.NoError(t, err)
	operator.Start(t.Context())
	seen := map[string]int{}
	require.Eventually(t, func() bool {
		clear(seen)
		for _, r := range records.list() {
			seen[r.Order.Action+" "+string(r.Kind)]++
		}
		return seen["replay ok"] >= 30 && seen["retry ok"] >= 10 && seen["cancel ok"] >= 3 && seen["pause ok"] >= 10
	}, 2*time.Minute, 10*time.Millisecond)
	require.NoError(t, operator.Stop(t.Context()))
	require.NoError(t, operator.Stop(t.Context()))

	ordered := map[string]int{}
	for _, r := range records.list() {
		require.NotEqual(t, "unknown", string(r.Kind), r.Text)
		if r.Kind == "ok" {
			ordered[map[string]string{
				"replay": "event.replay ", "erase": "event.erase ", "retry": "effect.retry ", "cancel": "effect.cancel ", "pause": "destination.pause ", "resume": "destination.resume ",
			}[r.Order.Action]+cmp.Or(r.Order.Key, r.Order.EventID)]++
		}
	}
	t.Log(seen)
	logged := map[string]int{}
	for _, target := range collect[string](t, pool, `
		SELECT action || ' ' || CASE WHEN action LIKE 'destination.%' THEN '' WHEN action LIKE 'event.%' THEN split_part(target, '/', 2) ELSE target END
		FROM hooklatch.operator_log`) {
		logged[target]++
	}
	require.NotEmpty(t, logged)
	require.Positive(t, number(t, pool, `SELECT count(*) FROM hooklatch.operator_log WHERE via = 'cli'`))
	require.Positive(t, number(t, pool, `SELECT count(*) FROM hooklatch.operator_log WHERE via = 'api'`))
	require.Zero(t, number(t, pool, `SELECT count(*) FROM hooklatch.destinations WHERE operator_paused`))
	require.Equal(t, ordered, logged)
}

func TestOperatorRetriesOnlyWhatBlocksItsOrder(t *testing.T) {
	t.Parallel()
	pool, _ := newDatabase(t)
	_, err := pool.Exec(t.Context(), `
		INSERT INTO hooklatch.effects (scope, key, idempotency_key, destination, queue, policy, order_key, accept_seq, on_park, state)
		VALUES
			('test', 'blocks', 'blocks', 'direct', 'dst_direct', 'at_least_once', 'a', 1, 'block', 'parked'),
			('test', 'waits', 'waits', 'direct', 'dst_direct', 'at_least_once', 'a', 2, 'block', 'pending'),
			('test', 'skipped', 'skipped', 'direct', 'dst_direct', 'at_least_once', 'b', 3, 'skip', 'parked'),
			('test', 'goes on', 'goes on', 'direct', 'dst_direct', 'at_least_once', 'b', 4, 'skip', 'pending'),
			('test', 'last', 'last', 'direct', 'dst_direct', 'at_least_once', 'c', 5, 'block', 'parked'),
			('test', 'unordered', 'unordered', 'direct', 'dst_direct', 'at_least_once', '', 6, 'block', 'parked')`)
	require.NoError(t, err)
	records := newRecords()
	operator, err := application.NewOperator(t.Context(), application.OperatorOptions{History: records.Writer, DatabaseURL: secret.New(pgtest.URL(t, pool))})
	require.NoError(t, err)
	require.NoError(t, operator.Rest(t.Context()))
	require.NoError(t, operator.Unblock(t.Context()))
	require.NoError(t, operator.Stop(t.Context()))
	require.Equal(t, []string{"blocks", "goes on", "waits"}, collect[string](t, pool, `SELECT key FROM hooklatch.effects WHERE state = 'pending' ORDER BY key`))
	require.Len(t, records.list(), 1)
	require.Equal(t, "blocks", records.list()[0].Order.Key)
	require.Equal(t, history.OK, records.list()[0].Kind)
}
