package programs_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

const (
	// previousEnv names the commit whose worker leads. Defaults to the previous commit.
	previousEnv = "HOOKLATCH_PREVIOUS"
	longEnv     = "HOOKLATCH_LONG" // if set, the test runs even without a commit
)

const workerFile = `
database: {url: %q, allow: [fsync_off]}
admin: {listen: %q}
sources: {main: {provider: hmac, header: X-Sig, event_id: {pointer: /id}, secrets: [sweep_0123456789abcdef0123456789abcdef]}}
destinations:
  app:     {http: {url: %[3]s/app}, retry: {initial: 1s, max: 2s, max_attempts: 1000}, breaker: {off: true}}
  careful: {http: {url: %[3]s/careful}, policy: at_most_once, retry: {initial: 1s, max: 2s, max_attempts: 1000}, breaker: {off: true}}
  lines:   {http: {url: %[3]s/lines}, retry: {initial: 1s, max: 2s, max_attempts: 1000}, breaker: {off: true}}
routes:
  - {name: app, from: main, to: app}
  - {name: careful, from: main, to: careful}
  - {name: lines, from: main, to: lines, order_by: 'body.line'}
`

// counting is a receiver that refuses calls at first, and then counts the calls that it applies.
type counting struct {
	open    atomic.Bool
	mu      sync.Mutex
	applied map[string]int
}

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !c.open.Load() {
		w.WriteHeader(http.StatusTooManyRequests) // certainly not applied
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.applied[r.Header.Get("Idempotency-Key")]++
}

// The test deletes all jobs twice, while a worker of the previous version leads and does the
// upkeep. Within three minutes all work is finished, and no effect is applied twice. The test takes
// minutes, because it builds two programs and upkeep runs once a minute.
func TestDeletedJobsComeBackWhileAWorkerOfBeforeLeads(t *testing.T) {
	t.Parallel()
	if os.Getenv(previousEnv) == "" && os.Getenv(longEnv) == "" {
		t.Skipf("set %s, or %s to a commit", longEnv, previousEnv)
	}
	const events = 60
	pool := pgtest.New(t, pgtest.MaxConns(10))
	receiver := &counting{applied: map[string]int{}}
	server := httptest.NewServer(receiver)
	t.Cleanup(server.Close)
	dir, remove, err := programs.Worktree(t.Context(), root, cmp.Or(os.Getenv(previousEnv), "HEAD^"))
	if err != nil {
		t.Skipf("the version before is not in the repository: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, remove()) })
	start := func(name, tree string) *programs.Program {
		t.Helper()
		binary, err := programs.Build(t.Context(), programs.BuildOptions{Dir: tree, Out: filepath.Join(t.TempDir(), name)})
		require.NoError(t, err)
		free, err := freeport.Addresses(1)
		require.NoError(t, err)
		file := filepath.Join(t.TempDir(), "hooklatch.yaml")
		require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, workerFile, pgtest.URL(t, pool), free[0], server.URL), 0o600))
		p, err := programs.New(programs.Options{
			Name: name, Binary: binary, Args: []string{"worker", "--config", file}, ReadyURL: "http://" + free[0] + "/readyz", History: newNotes().Writer,
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.Kill()) })
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		require.NoError(t, p.Start(ctx))
		require.NoError(t, p.Ready(ctx), p.LastLines())
		return p
	}
	ask := func(query string) (answer string) {
		t.Helper()
		require.NoError(t, pool.QueryRow(t.Context(), query).Scan(&answer))
		return answer
	}
	const leader = `SELECT COALESCE((SELECT leader_id FROM hooklatch.river_leader), '')`
	start("before", dir)
	require.Eventually(t, func() bool { return ask(leader) != "" }, 2*time.Minute, 50*time.Millisecond)
	leads := ask(leader)
	start("now", root)

	box, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, box.Stop(context.WithoutCancel(t.Context()))) })
	accept := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			id := fmt.Sprint("evt_", i)
			_, err := box.Accept(t.Context(), outbox.Delivery{
				Source: "main", Provider: "hmac", ContentType: "application/json", Body: fmt.Appendf(nil, `{"id":%q,"line":"%d"}`, id, i%5),
				Events: []outbox.Incoming{{ID: identity.EventID(id), Type: "t"}},
			})
			require.NoError(t, err)
		}
	}
	deleteJobs := func() {
		t.Helper()
		_, err := pool.Exec(t.Context(), `DELETE FROM hooklatch.river_job WHERE kind IN ('dispatch', 'effect')`)
		require.NoError(t, err)
	}
	accept(0, events/2)
	require.Eventually(t, func() bool {
		return ask(`SELECT (count(*) > 30)::text FROM hooklatch.effects WHERE attempt > 0`) == "true"
	}, 2*time.Minute, 50*time.Millisecond, "none is tried")
	deleteJobs()
	receiver.open.Store(true)
	accept(events/2, events)
	deleteJobs() // jobs of undispatched events and of running effects
	began := time.Now()
	const unfinished = `SELECT ((SELECT count(*) FROM hooklatch.processed_events WHERE outcome <> 'dispatched')
		+ (SELECT count(*) FROM hooklatch.effects WHERE state NOT IN ('done', 'parked')))::text`
	require.Eventually(t, func() bool { return ask(unfinished) == "0" }, 3*time.Minute, 200*time.Millisecond,
		"not everything has come to its end within three minutes")
	t.Logf("after %s", time.Since(began).Round(time.Second))
	require.Equal(t, leads, ask(leader), "another process led meanwhile")
	require.Equal(t, strconv.Itoa(3*events), ask(`SELECT count(*)::text FROM hooklatch.effects`))
	receiver.mu.Lock()
	defer receiver.mu.Unlock()
	require.Len(t, receiver.applied, 3*events)
	for key, n := range receiver.applied {
		require.Equal(t, 1, n, "%s was applied twice", key)
	}
}
