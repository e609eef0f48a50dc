package processes

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/firstrun"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// fickleReceiver rejects all requests until it is repaired, and then counts accepted requests by
// key.
type fickleReceiver struct {
	*httptest.Server

	mu       sync.Mutex
	repaired bool
	taken    map[string]int
}

func newFickleReceiver(t *testing.T) *fickleReceiver {
	t.Helper()
	r := &fickleReceiver{taken: make(map[string]int)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.repaired {
			http.Error(w, "not yet", http.StatusBadRequest)
			return
		}
		r.taken[request.Header.Get("Idempotency-Key")]++
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *fickleReceiver) repair() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.repaired = true
}

// failedSystem starts a worker process, and returns when its receiver has rejected n effects. path
// is the path of the configuration file.
func failedSystem(t *testing.T, n int) (path string, receiver *fickleReceiver, s *clitest.System) {
	t.Helper()
	pool := pgtest.New(t)
	receiver = newFickleReceiver(t)
	path = filepath.Join(t.TempDir(), "hooklatch.yaml")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `database: {url: %s}
admin: {listen: "127.0.0.1:0"}
sources: {stripe: {provider: stripe, secrets: [whsec_0123456789abcdef]}}
destinations:
  app: {http: {url: %s}, concurrency: 50}
routes:
  - {name: all, from: "*", to: app}
`, firstrun.Scalar(pgtest.URL(t, pool)), firstrun.Scalar(receiver.URL)), 0o600))
	worker := clitest.StartProgram(t, "worker", "--config", path, "--log-format", "text", "--log-level", "info")
	worker.Says(t, "msg=ready")
	t.Cleanup(func() {
		_ = worker.Cmd.Process.Signal(syscall.SIGTERM)
		_ = worker.Cmd.Wait()
	})
	s = &clitest.System{Pool: pool, ConfigPath: path}
	_, err := pool.Exec(t.Context(), `SELECT hooklatch.enqueue('app', 'order-' || i, '{}') FROM generate_series(1, $1) AS i`, n)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return s.Counts(t, n, `SELECT count(*) FROM hooklatch.effects WHERE state = 'failed'`)
	}, 4*clitest.Patience, 5*clitest.Tick)
	return path, receiver, s
}

// The real program retries many failed effects in one bulk run. The command counts the effects,
// shows progress and is interrupted. The run finishes after it is resumed.
func TestFailedEffectsAreRetriedByTheThousand(t *testing.T) {
	t.Parallel()
	n := 500
	if os.Getenv("HOOKLATCH_LONG") != "" {
		n = 5000
	}
	path, receiver, s := failedSystem(t, n)
	args := func(more ...string) []string {
		return append([]string{"effects", "retry", "--state", "failed", "--destination", "app", "--since", "1h", "--config", path}, more...)
	}
	preview := clitest.Must(t, args()...)
	require.Contains(t, preview, fmt.Sprintf("%d effects selected\n", n))
	require.Contains(t, preview, fmt.Sprintf("and %d more\n", n-10))
	require.Regexp(t, `retry them with:\n  hooklatch effects retry --config \S+ --destination app --state failed --since \S+Z --as-of \S+Z --yes\n`, preview)
	require.Zero(t, s.Count(t, `SELECT count(*) FROM hooklatch.operator_log`))

	receiver.repair()
	p := clitest.StartProgram(t, args("--rate", "5", "--yes", "--as", "alice", "--reason", "it is up")...)
	p.Says(t, fmt.Sprintf(" of %d effects tried again", n)) // progress
	p.Signal(t, syscall.SIGINT)
	require.Error(t, p.Cmd.Wait())
	require.Contains(t, p.Stderr.String(), "interrupted")
	require.Contains(t, p.Stderr.String(), "run 1: retry effects: destination app, state failed\n")
	require.Regexp(t, `paused; resume it with:\n  .+ runs resume .*1\n`, p.Stderr.String())
	require.Equal(t, "paused", s.Text(t, `SELECT state FROM hooklatch.replay_runs`))
	done := s.Count(t, `SELECT changed FROM hooklatch.replay_runs`)
	require.Less(t, done, n)
	require.Contains(t, p.Stdout.String(), fmt.Sprintf("%d of %d effects tried again\n", done, n))
	require.Equal(t, done, s.Count(t, `SELECT count(*) FROM hooklatch.effect_transitions WHERE reason = 'retried by alice: it is up (run 1)'`))

	order := func(args ...string) string { return clitest.Must(t, append(args, "--config", path)...) }
	require.Equal(t, "run 1 is no longer limited\n", order("runs", "pace", "1", "0"))
	require.Equal(t, fmt.Sprintf("%d effects tried again\n", n), order("runs", "resume", "1", "--here", "--as", "bob"))
	require.Eventually(t, func() bool {
		return s.Counts(t, n, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`)
	}, 4*clitest.Patience, 5*clitest.Tick)
	require.Equal(t, "effect.retry alice it is up, run.pause alice it is up; interrupted, run.pace, run.resume bob",
		s.Text(t, `SELECT string_agg(rtrim(concat_ws(' ', action, CASE WHEN action <> 'run.pace' THEN who END, reason)), ', ' ORDER BY id) FROM hooklatch.operator_log`))
	receiver.mu.Lock()
	defer receiver.mu.Unlock()
	require.Len(t, receiver.taken, n)
	for key, times := range receiver.taken {
		require.Equal(t, 1, times, key)
	}
	require.Equal(t, "0 effects selected\n", clitest.Must(t, args()...))
}

func TestOrdersAboutManyAsJSON(t *testing.T) {
	t.Parallel()
	path, _, s := failedSystem(t, 3)
	run := func(args ...string) cli.ManyView {
		var v cli.ManyView
		require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, append(args, "--config", path, "--json")...)), &v))
		return v
	}
	for flags, n := range map[string]int{"--since 1h": 3, "--since 2126-01-01": 0, "--route all": 0, "--source stripe": 0, "--destination app": 3} {
		var listed []ledger.Effect
		args := append([]string{"effects", "list", "--json", "--config", path}, strings.Fields(flags)...)
		require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, args...)), &listed))
		require.Len(t, listed, n, flags)
	}
	v := run("effects", "cancel", "--state", "failed,parked")
	require.True(t, v.Preview)
	require.Equal(t, int64(3), v.Selected)
	require.Len(t, v.Sample, 3)
	require.Equal(t, http.StatusBadRequest, v.Sample[0].ResponseStatus)
	require.Contains(t, v.Command, "--state failed,parked --as-of ")
	v = run("effects", "cancel", "--state", "failed", "--yes")
	require.False(t, v.Preview || v.Stopped)
	require.Equal(t, int64(3), v.Changed)
	require.Equal(t, int64(1), v.Run)
	require.Equal(t, 3, s.Count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'cancelled'`))

	var one cli.DeedView
	key := v.Command
	require.Empty(t, key)
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT idempotency_key FROM hooklatch.effects LIMIT 1`).Scan(&key))
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, "effects", "retry", key, "--json", "--config", path)), &one))
	require.Equal(t, cli.DeedView{Action: ledger.ActionRetryEffect, Target: key, Result: "tried again"}, one)
}

func TestASelectionThatMakesNoSenseIsRefused(t *testing.T) {
	t.Parallel()
	path := clitest.WriteConfig(t, "postgres://u@127.0.0.1:1/none")
	for _, c := range []struct{ args, text string }{
		{"retry", "name an effect by its key, or select effects with --state"},
		{"retry --destination app", "a selection needs --state: one or more of failed, parked, cancelled"},
		{"retry --state done", `--state "done": allowed are failed, parked, cancelled`},
		{"park --state failed", `--state "failed": allowed are pending, started, in_doubt`},
		{"retry hl_1 --state failed", "a key and a selection by flags exclude each other"},
		{"retry --state parked --in-doubt --yes", "state the reason with --reason"},
		{"retry --state failed --rate -1", "it must be a number of effects per second"},
		{"retry --state failed --since 1h --until 2h", "--since 1h is not before --until 2h"},
		{"retry --state failed --when body.(", "--when: "},
		{"retry --state failed --as-of soon", `--as-of "soon" is not a time`},
	} {
		var cmd clitest.Command
		code := cmd.Run(t.Context(), append(append([]string{"effects"}, strings.Fields(c.args)...), "--config", path)...)
		require.Equal(t, cli.ExitMisused, code, c.args)
		require.Contains(t, cmd.Stderr.String(), c.text, c.args)
	}
}
