package crashtest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// Operator tokens in these tests.
const (
	adminToken    = "token-of-ada-0123456789abcdef"
	operatorToken = "token-of-otto-0123456789abcdef"
)

// signedIn gives tokens to a process's admin listener. It lets users with the role operator change
// up to maxRun events or effects in one bulk run.
func (g *process) signedIn(t *testing.T, maxRun int) {
	t.Helper()
	dir := filepath.Dir(g.config)
	var tokens []string
	for name, of := range map[string][2]string{"ada": {"admin", adminToken}, "otto": {"operator", operatorToken}} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(of[1]), 0o600))
		tokens = append(tokens, `{name: `+name+`, role: `+of[0]+`, token_file: `+filepath.Join(dir, name)+`}`)
	}
	text, err := os.ReadFile(g.config)
	require.NoError(t, err)
	changed := strings.Replace(string(text), "admin: {", "admin: {max_run: "+strconv.Itoa(maxRun)+", tokens: ["+strings.Join(tokens, ", ")+"], ", 1)
	require.NoError(t, os.WriteFile(g.config, []byte(changed), 0o600))
}

// ask sends a request to a process's API. A request with a body is an operator action.
func (g *process) ask(t *testing.T, token, path, body string, into any) (status int, took time.Duration) {
	t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(t.Context(), method, strings.TrimSuffix(g.ready, "/readyz")+path, bytes.NewBufferString(body))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	began := time.Now()
	answer, err := g.client.Do(request)
	require.NoError(t, err)
	took = time.Since(began)
	defer answer.Body.Close()
	if into != nil {
		require.NoError(t, json.NewDecoder(answer.Body).Decode(into))
	}
	return answer.StatusCode, took
}

// failedAtOnce inserts n failed effects of the destination app. The caller has paused app, so that
// retried effects wait and can be counted.
func failedAtOnce(t *testing.T, pool *pgxpool.Pool, n int) {
	t.Helper()
	_, err := pool.Exec(t.Context(), `SET session_replication_role = replica;
		INSERT INTO hooklatch.effects (scope, key, generation, idempotency_key, route, destination, queue, policy, request_type, request_body,
			state, first_attempt_at, attempt, last_attempt_at, response_status, finished_at, created_at, error)
		SELECT 'enqueue:app', 'k' || i, 1, hooklatch.idempotency_key('enqueue:app', 'k' || i, 1), '', 'app', 'dst_app',
			'at_least_once', 'application/json', '{}', 'failed', now(), 1, now(), 404, now(), now() - i * interval '1 millisecond', 'HTTP 404 Not Found'
		FROM generate_series(1, `+strconv.Itoa(n)+`) AS i;
		RESET session_replication_role;
		ANALYZE hooklatch.effects`)
	require.NoError(t, err)
}

// runNow is a bulk run as the API returns it.
type runNow struct {
	State             string
	Worked            bool
	Selected, Changed int64
	Total             int64
}

// A bulk run of 100,000 effects, or 4,000 without HOOKLATCH_LONG, outlives its process. A user with
// the role operator is refused, because the run exceeds admin.max_run. Real processes work on the
// run. The run is paused, its process is killed with SIGKILL, another process continues the run,
// and the run is stopped. The counts add up, and the operator log names each user. In the long
// form, each request for the preview takes at most a second.
func TestARunOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	n := 4_000
	if long() {
		n = 100_000
	}
	pool := pgtest.New(t, pgtest.MaxConns(8))
	first, second := newProcess(t, pool, "worker", forward), newProcess(t, pool, "worker", forward)
	for _, p := range []*process{first, second} {
		p.signedIn(t, n-1)
	}
	first.start(t)
	require.Eventually(t, func() bool { return count(t, pool, `SELECT count(*) FROM hooklatch.destinations`) == 1 }, patience, 50*time.Millisecond)
	status, _ := first.ask(t, adminToken, "/api/destinations/app/pause", `{"reason": "so that they can be counted"}`, nil)
	require.Equal(t, http.StatusOK, status)
	failedAtOnce(t, pool, n)

	var preview struct {
		Selected    int64
		More        bool
		Next, Order string
	}
	for path := "/api/runs/new?of=effects&state=failed&destination=app"; path != ""; path = preview.Next {
		preview.Next = ""
		status, took := first.ask(t, adminToken, path, "", &preview)
		require.Equal(t, http.StatusOK, status)
		require.False(t, long() && took > time.Second)
		t.Logf("preview: %d after %s", preview.Selected, took.Round(time.Millisecond))
	}
	require.EqualValues(t, n, preview.Selected)
	status, _ = first.ask(t, operatorToken, preview.Order, `{"reason": "I may not"}`, nil)
	require.Equal(t, http.StatusForbidden, status)
	require.Zero(t, count(t, pool, `SELECT count(*) FROM hooklatch.replay_runs`))

	pace := strconv.Itoa(n / 60) // per second, so that the whole run takes about a minute or more
	status, _ = first.ask(t, adminToken, preview.Order, `{"name": "all of them", "pace": `+pace+`, "reason": "the route is deployed"}`, nil)
	require.Equal(t, http.StatusOK, status)
	began := time.Now()
	now := func(p *process) (run runNow) {
		status, _ := p.ask(t, adminToken, "/api/runs/1", "", &run)
		require.Equal(t, http.StatusOK, status)
		return run
	}
	until := func(p *process, what string, is func(runNow) bool) (run runNow) {
		require.Eventually(t, func() bool { run = now(p); return is(run) }, 3*time.Minute, 20*time.Millisecond, what)
		t.Logf("%5.1f s: %s: %+v", time.Since(began).Seconds(), what, run)
		return run
	}
	addsUp := func(run runNow) {
		require.Equal(t, run.Selected, run.Changed, "no other process changed the effects")
		require.EqualValues(t, run.Changed, count(t, pool, `SELECT count(*) FROM hooklatch.effects WHERE state = 'pending'`))
		require.EqualValues(t, run.Changed, count(t, pool, `SELECT count(DISTINCT args) FROM hooklatch.river_job WHERE kind = 'effect'`))
		require.EqualValues(t, run.Changed, count(t, pool, `SELECT count(*) FROM hooklatch.effect_transitions WHERE reason LIKE 'retried by ada: the route is deployed (run 1)'`))
	}
	until(first, "begun", func(r runNow) bool { return r.Changed > int64(n/60) })
	status, _ = first.ask(t, adminToken, "/api/runs/1/pause", `{"reason": "a look"}`, nil)
	require.Equal(t, http.StatusOK, status)
	addsUp(until(first, "paused", func(r runNow) bool { return r.State == "paused" }))
	status, _ = first.ask(t, operatorToken, "/api/runs/1/resume", `{}`, nil)
	require.Equal(t, http.StatusOK, status)
	half := until(first, "resumed", func(r runNow) bool { return r.Changed > int64(n/30) })
	first.kill()
	require.Eventually(t, func() bool {
		return count(t, pool, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'
			AND application_name LIKE 'hooklatch%' AND state <> 'idle'`) == 0
	}, patience, 10*time.Millisecond, "the server still ends what the process began")
	addsUp(func() (run runNow) {
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT selected, changed FROM hooklatch.replay_runs`).Scan(&run.Selected, &run.Changed))
		return run
	}())

	second.start(t)
	until(second, "continued by another process", func(r runNow) bool { return r.Changed > half.Changed+int64(n/30) })
	status, _ = second.ask(t, adminToken, "/api/runs/1/stop", `{"reason": "enough"}`, nil)
	require.Equal(t, http.StatusOK, status)
	stopped := until(second, "stopped", func(r runNow) bool { return r.State == "stopped" })
	require.Less(t, stopped.Changed, int64(n))
	addsUp(stopped)
	require.Equal(t, n, count(t, pool, `SELECT count(*) FROM hooklatch.effects WHERE state IN ('pending', 'failed')`))

	var record []string
	rows, err := pool.Query(t.Context(), `SELECT who || ' ' || role || ' ' || action || ' ' || reason FROM hooklatch.operator_log WHERE run_id = 1 ORDER BY at, id`)
	require.NoError(t, err)
	for rows.Next() {
		var line string
		require.NoError(t, rows.Scan(&line))
		record = append(record, line)
	}
	require.NoError(t, rows.Err())
	require.Equal(t, []string{
		"ada admin effect.retry the route is deployed", "ada admin run.pause a look", "otto operator run.resume ", "ada admin run.stop enough",
	}, record)
}
