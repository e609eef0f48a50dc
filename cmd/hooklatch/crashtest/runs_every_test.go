package crashtest

import (
	"bytes"
	"fmt"
	"net/http"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// idle is a configuration whose only route matches no event.
const idle = `
destinations:
  app: {http: {url: "http://127.0.0.1:9/"}}
routes:
  - {name: nothing, from: stripe, types: [none.such], to: app}
`

// eventsAtOnce inserts events with an outcome, each with a delivery.
func eventsAtOnce(t *testing.T, pool *pgxpool.Pool, n int, outcome string) {
	t.Helper()
	_, err := pool.Exec(t.Context(), `SET session_replication_role = replica;
		INSERT INTO hooklatch.deliveries (delivery_id, source, headers, content_type, body)
		SELECT md5('evt_' || i)::uuid, 'stripe', '{}', 'application/json', '{}' FROM generate_series(1, `+strconv.Itoa(n)+`) AS i;
		INSERT INTO hooklatch.processed_events (
			source, event_id, accept_seq, acceptance_id, provider, event_type, received_at, delivery_id, payload_hash, queue, outcome
		)
		SELECT 'stripe', 'evt_' || i, nextval('hooklatch.accept_seq'), md5('evt_' || i)::uuid, 'stripe', 'invoice.paid', d.received_at, d.delivery_id, '', 'dispatch', '`+outcome+`'
		FROM generate_series(1, `+strconv.Itoa(n)+`) AS i
		JOIN hooklatch.deliveries AS d ON d.delivery_id = md5('evt_' || i)::uuid;
		RESET session_replication_role;
		ANALYZE hooklatch.processed_events`)
	require.NoError(t, err)
}

// waitingAtOnce inserts effects of a destination that no process serves.
func waitingAtOnce(t *testing.T, pool *pgxpool.Pool, n int) {
	t.Helper()
	_, err := pool.Exec(t.Context(), `INSERT INTO hooklatch.destinations (name, kind, queue, config_hash) VALUES ('gone', 'http', 'dst_gone', '');
		SET session_replication_role = replica;
		INSERT INTO hooklatch.effects (scope, key, generation, idempotency_key, route, destination, queue, policy, request_type, request_body, state, created_at, next_attempt_at)
		SELECT 'enqueue:gone', 'k' || i, 1, hooklatch.idempotency_key('enqueue:gone', 'k' || i, 1), '', 'gone', 'dst_gone',
			'at_least_once', 'application/json', '{}', 'pending', now() - i * interval '1 millisecond', now()
		FROM generate_series(1, `+strconv.Itoa(n)+`) AS i;
		RESET session_replication_role;
		ANALYZE hooklatch.effects`)
	require.NoError(t, err)
}

// refusedAtOnce inserts genuine deliveries that were refused, the oldest with the highest number.
func refusedAtOnce(t *testing.T, pool *pgxpool.Pool, n int) {
	t.Helper()
	stripe, err := catalog.New("stripe", provider.Options{})
	require.NoError(t, err)
	now := time.Now()
	columns := []string{"rejection_id", "source", "rejected_at", "reason", "detail", "known", "method", "host", "secure", "target", "headers", "body", "bytes"}
	_, err = pool.CopyFrom(t.Context(), pgx.Identifier{"hooklatch", "rejected_deliveries"}, columns, pgx.CopyFromSlice(n, func(i int) ([]any, error) {
		request := stripe.Sample("invoice.paid", fmt.Sprintf("evt_%d", i+1), now)
		if err := stripe.Sign(request, secret.New(testSecret), now); err != nil {
			return nil, err
		}
		return []any{
			uuid.New(), "stripe", now.Add(-time.Duration(i) * time.Millisecond), "wrong_signature", strconv.Itoa(i + 1), false, http.MethodPost, "localhost", false,
			"/webhooks/stripe", request.Header, request.Body, 1000,
		}, nil
	}))
	require.NoError(t, err)
}

// A command begins a bulk run of 20,000 rows, or 1,000 without HOOKLATCH_LONG. The command is
// killed with SIGKILL in the middle, at a locked row. Another command pauses the run, the API
// resumes it, and a worker finishes it. The counts add up, and the operator log names the operator.
func TestRunsOfEveryKindOutliveTheirCommand(t *testing.T) {
	t.Parallel()
	n := 1_000
	if long() {
		n = 20_000
	}
	for name, c := range map[string]struct {
		fill    func(*testing.T, *pgxpool.Pool, int)
		command []string
		lock    string // a row in the middle
		done    string // query for the number of changed rows
		records int    // rows of the operator log about single events, besides the rows about the run
	}{
		"erase": {
			func(t *testing.T, pool *pgxpool.Pool, n int) { t.Helper(); eventsAtOnce(t, pool, n, "skipped") },
			[]string{"events", "erase", "--source", "stripe", "--yes"},
			`SELECT FROM hooklatch.processed_events WHERE event_id = 'evt_' || $1::int FOR UPDATE`,
			`SELECT count(*) FROM hooklatch.processed_events AS e JOIN hooklatch.deliveries AS d USING (delivery_id, received_at)
				WHERE e.erased_at IS NOT NULL AND e.error = 'erased by ann' AND d.body = ''`, n,
		},
		"release": {
			func(t *testing.T, pool *pgxpool.Pool, n int) { t.Helper(); eventsAtOnce(t, pool, n, "held") },
			[]string{"events", "release", "--source", "stripe", "--yes"},
			`SELECT FROM hooklatch.processed_events WHERE event_id = 'evt_' || $1::int FOR UPDATE`,
			`SELECT count(*) FROM hooklatch.processed_events WHERE outcome <> 'held'`, 0,
		},
		"quarantine retry": {
			refusedAtOnce,
			[]string{"quarantine", "retry", "--source", "stripe", "--yes"},
			`SELECT FROM hooklatch.rejected_deliveries WHERE detail = ($1::int)::text FOR UPDATE`,
			`SELECT ` + strconv.Itoa(n) + ` - count(*) FROM hooklatch.rejected_deliveries`, 0,
		},
		"retire": {
			waitingAtOnce,
			[]string{"destinations", "retire", "gone"},
			`SELECT FROM hooklatch.effects WHERE key = 'k' || $1::int FOR UPDATE`,
			`SELECT count(*) FROM hooklatch.effects WHERE state = 'parked' AND error = 'parked by ann: as a test (run 1)'`, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			patience := patience * time.Duration(max(1, n/2000)) // more rows take longer
			pool := pgtest.New(t, pgtest.MaxConns(8))
			worker := newProcess(t, pool, "worker", idle)
			worker.signedIn(t, n)
			c.fill(t, pool, n)
			now := func() (run runNow) {
				_ = pool.QueryRow(t.Context(), `SELECT state, selected, changed, leased_until > now() FROM hooklatch.replay_runs WHERE id = 1`).
					Scan(&run.State, &run.Selected, &run.Changed, &run.Worked) // the run may not exist yet
				return run
			}
			changed := func() int { return count(t, pool, c.done) }

			lock, err := pool.Begin(t.Context())
			require.NoError(t, err)
			_, err = lock.Exec(t.Context(), c.lock, n/2)
			require.NoError(t, err)
			path, err := binary()
			require.NoError(t, err)
			command := exec.Command(path, append(c.command, "--as", "ann", "--reason", "as a test", "--config", worker.config)...)
			var output bytes.Buffer
			command.Stdout, command.Stderr = &output, &output
			require.NoError(t, command.Start())
			require.Eventually(t, func() bool {
				run := now()
				return run.Changed > 0 && run.Changed >= int64(n/2)-200
			}, patience, 10*time.Millisecond, "%s", &output)
			require.NoError(t, command.Process.Kill())
			require.Error(t, command.Wait(), "the command was killed")
			require.NoError(t, lock.Rollback(t.Context()))
			require.Eventually(t, func() bool {
				return count(t, pool, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'
					AND application_name LIKE 'hooklatch%' AND state <> 'idle'`) == 0
			}, patience, 10*time.Millisecond, "the server still ends what the command began")
			half := now()
			require.Less(t, half.Changed, int64(n))
			require.EqualValues(t, half.Changed, changed(), "the counted rows are the changed rows")

			worker.run(t, "runs", "pause", "1", "--as", "bea")
			require.Contains(t, []string{"paused", "resting"}, now().State)
			worker.start(t)
			status, _ := worker.ask(t, adminToken, "/api/runs/1/resume", `{"reason": "go on"}`, nil)
			require.Equal(t, http.StatusOK, status)
			require.Eventually(t, func() bool { return now().State == "done" }, patience, 20*time.Millisecond)
			require.Equal(t, runNow{State: "done", Selected: int64(n), Changed: int64(n)}, now())
			require.Equal(t, n, changed())
			require.Equal(t, c.records, count(t, pool, `SELECT count(*) FROM hooklatch.operator_log WHERE run_id = 1 AND who = 'ann' AND reason = 'as a test' AND affected = 1`))
			require.Equal(t, 3, count(t, pool, `SELECT count(*) FROM hooklatch.operator_log WHERE run_id = 1 AND affected = 0`), "the run was begun, paused and resumed")
			switch name {
			case "quarantine retry":
				require.Equal(t, n, count(t, pool, `SELECT count(*) FROM hooklatch.processed_events`))
				require.LessOrEqual(t, count(t, pool, `SELECT COALESCE((came->>'duplicates')::int, 0) FROM hooklatch.replay_runs`), 1, "the delivery that was being verified when the command was killed")
			case "erase":
				list := worker.run(t, "events", "erase", "--list", "1")
				require.Equal(t, n, bytes.Count(list, []byte("erased stripe/evt_")))
				require.Contains(t, string(list), fmt.Sprintf("erased stripe/evt_%d\n", n))
			}
		})
	}
}
