// Package crashtest tests the worker's promises about effects with real processes that are killed
// or stopped at chosen moments.
package crashtest

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// patience is the maximum wait for an expected event.
const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	if setting := os.Getenv(asWorker); setting != "" {
		runWorker(setting)
		return
	}
	os.Exit(pgtest.Main(m))
}

// process is a worker process: a copy of this test binary.
type process struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	output *io.PipeWriter
	reader sync.WaitGroup

	mu     sync.Mutex
	lines  []string // markers and log lines
	killed bool
}

// startWorker starts a worker process on the database of pool. The process is killed at the end of
// the test.
func startWorker(t *testing.T, pool *pgxpool.Pool, s setting) *process {
	t.Helper()
	s.DatabaseURL = pgtest.URL(t, pool)
	encoded, err := json.Marshal(s)
	require.NoError(t, err)
	p := &process{cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), asWorker+"="+string(encoded))
	output, input := io.Pipe()
	p.output = input
	p.cmd.Stdout, p.cmd.Stderr = input, input
	p.stdin, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	p.reader.Go(func() {
		for scanner := bufio.NewScanner(output); scanner.Scan(); {
			p.mu.Lock()
			p.lines = append(p.lines, scanner.Text())
			p.mu.Unlock()
		}
		_, _ = io.Copy(io.Discard, output) // an overlong line must not block the process
	})
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("a worker process printed:\n%s", strings.Join(p.lines, "\n"))
		}
	})
	return p
}

// kill sends SIGKILL to the process and waits until it has exited. It may be called again.
func (p *process) kill() {
	if p.killed {
		return
	}
	p.killed = true
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	_ = p.stdin.Close()
	_ = p.output.Close()
	p.reader.Wait()
}

// marked lists the keys for which the process printed the marker.
func (p *process) marked(marker string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var keys []string
	for _, line := range p.lines {
		if key, ok := strings.CutPrefix(line, marker+" "); ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// containing counts the printed lines that contain the text.
func (p *process) containing(text string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, line := range p.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// scene is a new database with the registered destination "app".
type scene struct {
	*outbox.Outbox

	pool *pgxpool.Pool
}

func newScene(t *testing.T, kind string, policy ledger.Policy) *scene {
	t.Helper()
	pool := pgtest.New(t, pgtest.MaxConns(4))
	box, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	require.NoError(t, box.Fleet().RegisterDestinations(t.Context(), []fleet.Destination{
		{Name: destinationName, Kind: kind, Queue: "dst_" + destinationName, Policy: policy},
	}))
	return &scene{Outbox: box, pool: pool}
}

// enqueue commits n effects and returns their idempotency keys.
func (l *scene) enqueue(t *testing.T, n int, request func(i int) ledger.Request) []string {
	t.Helper()
	keys := make([]string, n)
	require.NoError(t, pgx.BeginFunc(t.Context(), l.pool, func(tx pgx.Tx) error {
		for i := range n {
			id := effectID(i)
			if _, err := l.EnqueueTx(t.Context(), tx, outbox.Enqueue{Key: id.Key, Destination: destinationName, Request: request(i)}); err != nil {
				return err
			}
			keys[i] = id.IdempotencyKey()
		}
		return nil
	}))
	return keys
}

// inState lists the idempotency keys of the effects in a state.
func (l *scene) inState(t *testing.T, state ledger.EffectState) []string {
	t.Helper()
	var keys []string
	for at, more := find.Beginning, true; more; {
		page, err := l.Finder().Effects(t.Context(), find.Effects{States: []ledger.EffectState{state}}, at, 0)
		require.NoError(t, err)
		for _, e := range page.Rows {
			keys = append(keys, e.IdempotencyKey)
		}
		at, more = page.Next, page.More
	}
	slices.Sort(keys)
	return keys
}

func (l *scene) count(t *testing.T, query string, args ...any) int {
	t.Helper()
	var n int
	require.NoError(t, l.pool.QueryRow(t.Context(), query, args...).Scan(&n))
	return n
}

// settleDown waits until Postgres has ended the transactions of the killed process.
func (l *scene) settleDown(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return l.openTransactions(t) == 0 }, patience, time.Millisecond)
}

func (l *scene) openTransactions(t *testing.T) int {
	t.Helper()
	return l.count(t, `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND state <> 'idle'`)
}

// passTime simulates the minutes after a crash: leases end, and River's rescuer makes the running
// jobs available. Jobs that another process took over, and that wait for the end of a lease, become
// available too.
func (l *scene) passTime(t *testing.T) {
	t.Helper()
	_, err := l.pool.Exec(t.Context(), `UPDATE hooklatch.effects SET lease_until = now() - interval '1 second' WHERE state = 'started'`)
	require.NoError(t, err)
	_, err = l.pool.Exec(t.Context(), `UPDATE hooklatch.river_job SET state = 'available', attempt = 0, scheduled_at = now() WHERE state IN ('running', 'scheduled', 'retryable')`)
	require.NoError(t, err)
}

// finish waits until all effects are finished.
func (l *scene) finish(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		return l.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state NOT IN ('done', 'failed', 'parked', 'cancelled')`) == 0
	}, patience, 5*time.Millisecond, "effects are unfinished")
}

// email returns the request for one email.
func email(t *testing.T, subject string) ledger.Request {
	t.Helper()
	body, err := destination.Message{To: []string{"ann@example.com"}, Subject: subject, Text: "Paid."}.Encode()
	require.NoError(t, err)
	return ledger.Request{Body: body}
}
