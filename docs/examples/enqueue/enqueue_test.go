package enqueue

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema/embedded"
	"github.com/hooklatch/hooklatch/schema/pgtest"
	"github.com/hooklatch/hooklatch/worker"
	"github.com/hooklatch/hooklatch/worker/destination"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// patience is the maximum wait for a call on a busy machine.
const patience = 2 * time.Minute

// crm is a receiver that records every call.
type crm struct {
	mu    sync.Mutex
	calls []string // bodies
	keys  []string
}

func (c *crm) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // a truncated body fails the comparison
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, r.Header.Get("Content-Type")+" "+r.Header.Get("X-Export")+" "+string(body))
	c.keys = append(c.keys, r.Header.Get("Idempotency-Key"))
}

// shop creates an application's database and starts a worker that makes the application's calls. It
// returns the database and the receiver of the calls.
func shop(t *testing.T) (*pgxpool.Pool, *crm) {
	t.Helper()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `CREATE TABLE orders (id bigint PRIMARY KEY, total numeric NOT NULL)`)
	require.NoError(t, err)
	seen := &crm{}
	receiver := httptest.NewServer(seen)
	t.Cleanup(receiver.Close)
	sender, err := destination.NewHTTP(destination.HTTPOptions{Name: "crm", URL: receiver.URL, Timeout: patience})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sender.Close()) })
	box, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, box.Stop(context.Background())) })
	w, err := worker.New(worker.Options{Pool: pool, Outbox: box, Destinations: []worker.DestinationOptions{{Name: "crm", Sender: sender}}})
	require.NoError(t, err)
	require.NoError(t, w.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, w.Stop(context.Background())) })
	return pool, seen
}

// findPsql looks for psql on PATH, and where packages install the programs of Postgres.
func findPsql(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("psql"); err == nil {
		return path
	}
	dirs := []string{os.Getenv(embedded.BinariesEnv)}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		slices.Reverse(found)
		dirs = append(dirs, found...)
	}
	for _, dir := range dirs {
		if path, err := exec.LookPath(filepath.Join(dir, "psql")); dir != "" && err == nil {
			return path
		}
	}
	t.Skip("psql is not installed")
	return ""
}

// After a commit the call is made once, and after a rollback never. Two transactions with the same
// key lead to one call.
func TestPsql(t *testing.T) {
	t.Parallel()
	psql := findPsql(t)
	pool, seen := shop(t)
	command := exec.CommandContext(t.Context(), psql, "--no-psqlrc", "--quiet", "--tuples-only", "--no-align",
		"--dbname", pgtest.URL(t, pool), "--set", "ON_ERROR_STOP=1", "--file", "enqueue.sql")
	said, err := command.CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Equal(t, "t,t,t,f,t", strings.Join(strings.Fields(string(said)), ","), "is_new")

	require.Eventually(t, func() bool {
		var done int
		err := pool.QueryRow(t.Context(), `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`).Scan(&done)
		return err == nil && done == 3
	}, patience, 20*time.Millisecond)
	var orders, effects int
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM hooklatch.effects)`).Scan(&orders, &effects))
	require.Equal(t, []int{2, 3}, []int{orders, effects})
	seen.mu.Lock()
	defer seen.mu.Unlock()
	require.ElementsMatch(t, []string{
		`application/json  {"order": 1001, "total": 99.90}`,
		`application/json  {"order": 1003, "total": 7.00}`,
		"text/csv daily id;total\n1001;99.90\n",
	}, seen.calls)
	for _, key := range []string{"order-1001", "order-1003", "export-1"} {
		id := identity.EffectID{Scope: identity.ScopeOfEnqueue("crm"), Key: identity.Key(key), Generation: 1}
		require.Contains(t, seen.keys, id.IdempotencyKey())
	}
}
