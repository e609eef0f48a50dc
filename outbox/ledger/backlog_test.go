package ledger

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// backlog contains the number of waiting effects for each reason to wait.
type backlog struct {
	paused  int // effects of a destination that is paused
	resumed int // effects of a destination that drains after its pause
	later   int // effects of a destination whose effects all have their next attempt in the future
	order   int // effects of one order whose first effect has its next attempt in the future
	orders  int // effects that are due, each the only one in its order
}

// fill inserts the effects of a backlog, with the jobs that the ledger would insert for them. Two
// jobs are missing: the job of key_7 at the destination resumed, and the job of key_7 at the
// destination lines.
func (w backlog) fill(t *testing.T, b *ledgerBundle) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), `INSERT INTO hooklatch.destinations (name, kind, queue, config_hash, operator_paused, paused_at)
		SELECT name, 'http', 'dst_' || name, '', name = 'paused', CASE WHEN name = 'paused' THEN now() END
		FROM unnest(ARRAY['paused', 'resumed', 'later', 'line', 'lines', 'quick']) AS name`)
	require.NoError(t, err)
	wait := func(destination string, n int, nextAttempt, order, withJob string) {
		t.Helper()
		tx := b.begin(t)
		_, err := tx.Exec(t.Context(), `SET LOCAL session_replication_role = replica`) // no triggers
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), `
			INSERT INTO hooklatch.effects (
				scope, key, idempotency_key, route, destination, queue, policy, source, event_id, accept_seq, order_key,
				next_attempt_at, created_at, request_method, request_url, request_body
			)
			SELECT
				'r:'||$1, 'key_'||i, 'hl_'||$1||i, 'r', $1, 'dst_'||$1, 'at_least_once', 'stripe', 'evt_'||i, i, `+order+`,
				`+nextAttempt+`, now() - interval '2 hours', 'POST', 'https://example.com/', '{}'
			FROM generate_series(1, $2) AS i`, destination, n)
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), `
			INSERT INTO hooklatch.river_job (state, args, kind, max_attempts, queue, scheduled_at)
			SELECT
				CASE WHEN next_attempt_at > now() THEN 'retryable' ELSE 'available' END::hooklatch.river_job_state,
				jsonb_build_object('scope', scope, 'key', key, 'generation', 1, 'destination', destination), 'effect', 10000, queue, next_attempt_at
			FROM hooklatch.effects
			WHERE destination = $1 AND `+withJob, destination)
		require.NoError(t, err)
		require.NoError(t, tx.Commit(t.Context()))
	}
	const aged = `now() - interval '2 hours' + i * interval '1 millisecond'`
	wait("paused", w.paused, aged, `''`, `true`)
	wait("resumed", w.resumed, aged, `''`, `key <> 'key_7'`)
	wait("later", w.later, `now() + interval '1 hour' + i * interval '1 millisecond'`, `''`, `true`)
	wait("line", w.order, `CASE i WHEN 1 THEN now() + interval '1 hour' ELSE `+aged+` END`, `'one'`, `key = 'key_1'`)
	wait("lines", w.orders, aged, `'order_'||i`, `key <> 'key_7'`)
	wait("quick", 3, aged, `'order_'||i`, `true`)
}

// The cost of a statement for one effect, one destination or one slice does not depend on the
// backlog. The test counts buffers, because their number does not depend on the machine's load. The
// bounds hold for any backlog.
func TestNoStatementGrowsWithWhatWaits(t *testing.T) {
	t.Parallel()
	waiting := backlog{paused: 40_000, resumed: 20_000, later: 10_000, order: 20_000, orders: 10_000}
	if os.Getenv("HOOKLATCH_LONG") != "" {
		waiting = backlog{paused: 1_000_000, resumed: 200_000, later: 200_000, order: 50_000, orders: 100_000}
	}
	// The test turns autovacuum off, because the plans must not depend on the moment of an ANALYZE.
	b := newLedger(t, pgtest.New(t))
	_, err := b.pool.Exec(t.Context(), `ALTER TABLE hooklatch.effects SET (autovacuum_enabled = false); ALTER TABLE hooklatch.river_job SET (autovacuum_enabled = false)`)
	require.NoError(t, err)
	waiting.fill(t, b)

	of := func(destination string, keys ...string) orderTurns {
		var asked orderTurns
		for _, key := range keys {
			asked.Asked = append(asked.Asked, identity.EffectID{Scope: identity.Scope("r:" + destination), Key: identity.Key(key), Generation: 1})
		}
		return asked
	}
	in := func(destination string, queues ...string) withoutJob {
		return withoutJob{Destination: destination, Queues: queues, GraceSeconds: 30, Look: 1000}
	}
	pages := func() pageOfOrders { return pageOfOrders{Limit: 1000} }
	sql := b.Ledger.sql
	for _, c := range []struct {
		what  string
		bound statement.Bound
		most  int // buffers
	}{
		{"turn of a head", sql.OrderTurns.With(of("line", "key_1")), 60},
		{"turn of one far behind", sql.OrderTurns.With(of("line", "key_19999")), 60},
		{"turn of many", sql.OrderTurns.With(of("lines", "key_1", "key_5000", "key_9999")), 120},
		{"heads of orders", sql.OrderHeads.With(inOrders{[]orderKey{{"r:line", "one"}, {"r:quick", "order_1"}}}), 40},
		{"oldest due of many", sql.OldestDue.With(ofDestination{"paused"}), 20},
		{"oldest due where none is", sql.OldestDue.With(ofDestination{"later"}), 20},
		{"oldest due where all are in orders", sql.OldestDue.With(ofDestination{"line"}), 20},
		{"oldest due in an order whose first is tried later", sql.OldestDueInOrders.With(oldestDueInOrders{"line", pages()}), 60},
		{"oldest due in many orders", sql.OldestDueInOrders.With(oldestDueInOrders{"lines", pages()}), 15_000},
		{"oldest due in few orders", sql.OldestDueInOrders.With(oldestDueInOrders{"quick", pages()}), 120},
		{"overdue destinations", sql.OverdueDestinations, 80},
		{"slice of a queue that is worked off", sql.EffectsWithoutJob.With(in("resumed", "dst_resumed")), 4_000},
		{"slice of what is tried later", sql.EffectsWithoutJob.With(in("later", "dst_later")), 3_000},
		{"page of orders", sql.OrdersWithoutJob.With(ordersWithoutJob{in("lines", "dst_lines"), pages()}), 5_000},
		{"page of one order", sql.OrdersWithoutJob.With(ordersWithoutJob{in("line", "dst_line"), pages()}), 100},
	} {
		buffers := buffersOf(t, b, c.bound)
		t.Logf("%-50s %6d buffers", c.what, buffers)
		if buffers > c.most {
			t.Errorf("%s: %d buffers, at most %d are allowed\n%s", c.what, buffers, c.most, planOf(t, b, c.bound))
		}
	}
}

// buffersOf returns the number of buffers that a statement reads.
func buffersOf(t *testing.T, b *ledgerBundle, s statement.Bound) int {
	t.Helper()
	tx := b.begin(t)
	defer func() { _ = tx.Rollback(t.Context()) }()
	rows, err := s.Query(t.Context(), explained{tx, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "})
	require.NoError(t, err)
	plans, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[[]struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`  //nolint:tagliatelle // Postgres' name
			Read int `json:"Shared Read Blocks"` //nolint:tagliatelle // Postgres' name
		}
	}])
	require.NoError(t, err)
	return plans[0].Plan.Hit + plans[0].Plan.Read
}

// planOf returns the plan of a statement, for the output of a failed test.
func planOf(t *testing.T, b *ledgerBundle, s statement.Bound) string {
	t.Helper()
	tx := b.begin(t)
	defer func() { _ = tx.Rollback(t.Context()) }()
	rows, err := s.Query(t.Context(), explained{tx, "EXPLAIN (ANALYZE, BUFFERS) "})
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return strings.Join(lines, "\n")
}

// explained is a transaction whose queries return the plan of a statement instead of its rows.
type explained struct {
	pgx.Tx

	prefix string
}

func (e explained) Query(ctx context.Context, text string, args ...any) (pgx.Rows, error) {
	return e.Tx.Query(ctx, e.prefix+text, args...)
}

// reconcile returns the number of effects that Reconcile enqueues again.
func (b *ledgerBundle) reconcile(t *testing.T, look int) int {
	t.Helper()
	n, err := b.Reconcile(t.Context(), 0, look, func(ctx context.Context, run slice) error {
		return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
			_, enqueue, err := run(ctx, tx)
			if err != nil {
				return err
			}
			return enqueue(ctx, tx)
		})
	})
	require.NoError(t, err)
	return n
}

// An effect that lost its job in a long queue is found when its turn arrives, and gets its former
// position in the queue. An ordered effect is found only if all jobs of the queue were read.
func TestReconcileFindsWhatWasPassedOver(t *testing.T) {
	t.Parallel()
	b := newLedger(t, pgtest.New(t))
	backlog{paused: 5, resumed: 50, order: 20, orders: 30, later: 5}.fill(t, b)
	reconcile := func(look int) int { return b.reconcile(t, look) }
	jobs := func(destination string) int {
		return b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE args ->> 'destination' = $1 AND args ->> 'key' = 'key_7'`, destination)
	}
	_, err := b.pool.Exec(t.Context(), `DELETE FROM hooklatch.river_job WHERE args ->> 'key' = 'key_3' AND args ->> 'destination' IN ('paused', 'later')`)
	require.NoError(t, err)

	require.Zero(t, reconcile(5), "its turn has not arrived: five jobs precede it")
	require.Equal(t, 1, reconcile(8))
	require.Equal(t, 1, jobs("resumed"))
	require.Zero(t, jobs("lines"), "a queue that was not read to its end does not show which jobs are missing")
	require.Zero(t, reconcile(8), "its job waits at its former position")
	require.Equal(t, 1, b.count(t, `
		SELECT count(*) FROM hooklatch.river_job AS j JOIN hooklatch.effects AS e ON e.destination = 'resumed' AND e.key = 'key_7'
		WHERE j.args ->> 'key' = 'key_7' AND j.args ->> 'destination' = 'resumed' AND j.scheduled_at = e.next_attempt_at`))
	require.Equal(t, 1, reconcile(100), "the head of an order lacks its job; paused and later effects need none yet")
	require.Equal(t, 1, jobs("lines"))
	b.pause(t, false)
	require.Equal(t, 1, reconcile(100), "the effect whose destination was paused")
	require.Zero(t, reconcile(100))
}

// Jobs of fetched events come last in their queue. Such a job may be older than all jobs before it,
// so Reconcile may not have read it. Reconcile does not treat an unread job as missing.
func TestReconcileKnowsThatFetchedEventsGoLast(t *testing.T) {
	t.Parallel()
	b := newLedger(t, pgtest.New(t))
	backlog{resumed: 20}.fill(t, b)
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.river_job SET priority = 4`)
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `INSERT INTO hooklatch.river_job (state, args, kind, max_attempts, queue, scheduled_at)
		VALUES ('available', '{"scope": "r:resumed", "key": "live", "generation": 1}', 'effect', 10000, 'dst_resumed', now())`)
	require.NoError(t, err)
	require.Zero(t, b.reconcile(t, 5), "five jobs of fetched events precede key_7")
	require.Equal(t, 1, b.reconcile(t, 8))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE args ->> 'key' = 'key_7'`))
	require.Zero(t, b.reconcile(t, 8))
}
