package crashtest

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/hooklatch/hooklatch/internal/pgbouncer"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A process whose url leads through a transaction pooler, and whose direct_url bypasses it, works
// as if there were no pooler. This holds before and after the server behind the pooler is
// restarted, and with the pooler's URL in DATABASE_URL.
func TestAPoolerOfTransactions(t *testing.T) {
	t.Parallel()
	deliveries := 200
	if os.Getenv("HOOKLATCH_LONG") != "" {
		deliveries = 10_000
	}
	var received atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { received.Add(1) }))
	t.Cleanup(receiver.Close)
	pool := pgtest.New(t, pgtest.Own(), pgtest.MaxConns(4))
	g := newProcess(t, pool, "serve", fmt.Sprintf(`
destinations:
  app: {http: {url: %[1]q}}
  books: {http: {url: %[1]q}}
routes:
  - {name: app, from: stripe, to: app}
  - {name: books, from: stripe, to: books, order_by: "'one'", types: ["invoice.paid"]}
`, receiver.URL))
	direct := pgtest.URL(t, pool)
	pooled := pgbouncer.Start(t, direct)
	g.reconfigure(t, fmt.Sprintf("url: %q", direct), fmt.Sprintf(`url: "${DATABASE_URL}", direct_url: %q`, direct))
	g.start(t, func(cmd *exec.Cmd) { cmd.Env = append(os.Environ(), "DATABASE_URL="+pooled) })
	deliver := func(round string) {
		var senders errgroup.Group
		senders.SetLimit(8)
		for i := range deliveries {
			senders.Go(func() error {
				kind := "invoice.created"
				if i%20 == 0 {
					kind = "invoice.paid"
				}
				if status, _ := g.deliver(t.Context(), kind, fmt.Sprintf("evt_%s_%d", round, i)); status != http.StatusOK {
					return fmt.Errorf("delivery %d of %s: status %d", i, round, status)
				}
				return nil
			})
		}
		require.NoError(t, senders.Wait())
	}
	done := func(rounds int) {
		want := rounds * (deliveries + deliveries/20)
		require.Eventually(t, func() bool {
			return count(t, pool, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`) == want
		}, patience, 10*time.Millisecond)
		require.GreaterOrEqual(t, received.Load(), int64(want))
	}
	deliver("before")
	done(1)
	require.NoError(t, pgtest.Server(t, pool).Restart(t.Context()))
	pool.Reset()
	g.awaitReady(t)
	deliver("after")
	done(2)
	require.NotContains(t, g.log.String(), "prepared statement")
	overview := g.page(t, "")
	require.Contains(t, overview, "Overview")
	require.NotContains(t, overview, "pooler", "the console does not report the pooler")
	g.stop(t)
}

// A transaction pooler without a direct_url is a problem that check reports, and that prevents
// every process from starting.
func TestAPoolerOfTransactionsWithoutAWayPastIt(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.MaxConns(2))
	g := newProcess(t, pool, "serve", forward)
	direct := pgtest.URL(t, pool)
	g.reconfigure(t, fmt.Sprintf("url: %q", direct), fmt.Sprintf("url: %q", pgbouncer.Start(t, direct)))
	const wrong = "connected through a pooler that reassigns server connections after each transaction"
	path, err := binary()
	require.NoError(t, err)
	for _, command := range []string{"check", "serve"} {
		output, err := exec.CommandContext(t.Context(), path, command, "--config", g.config).CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(output), wrong, command)
		require.Contains(t, string(output), "set database.direct_url", command)
	}
}

// With listen: false, a process needs no connection that bypasses the pooler. The schema was
// migrated over a direct connection. All effects succeed at the first attempt: River would notify
// workers of a retry, and the test allows no such notification.
func TestAPoolerOfTransactionsIsEnoughWithoutLISTEN(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	pool := pgtest.New(t, pgtest.MaxConns(2))
	g := newProcess(t, pool, "serve", forward)
	g.reconfigure(t, "http://127.0.0.1:9/", receiver.URL)
	direct := pgtest.URL(t, pool)
	g.reconfigure(t, fmt.Sprintf("url: %q", direct), fmt.Sprintf("url: %q, listen: false", pgbouncer.Start(t, direct)))
	listener, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer listener.Release()
	_, err = listener.Exec(t.Context(), `LISTEN "hooklatch.river_insert"`)
	require.NoError(t, err)
	g.start(t)
	const deliveries = 50
	for i := range deliveries {
		status, _ := g.deliver(t.Context(), "invoice.paid", fmt.Sprintf("evt_%d", i))
		require.Equal(t, http.StatusOK, status)
	}
	require.Eventually(t, func() bool {
		return count(t, pool, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`) == deliveries
	}, patience, 10*time.Millisecond)
	require.NotContains(t, g.log.String(), "prepared statement")
	g.stop(t)
	silent, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	for {
		heard, err := listener.Conn().WaitForNotification(silent)
		if err != nil {
			break
		}
		require.JSONEq(t, `{"queue": "upkeep"}`, heard.Payload, "only River notifies, about its periodic jobs")
	}
}

// pg_stat_activity shows the last statement of each session, which is LISTEN in a session that
// listens.
func TestNoSessionListensUnlessConfigured(t *testing.T) {
	t.Parallel()
	for listen, listens := range map[string]bool{"": true, ", listen: false": false} {
		t.Run(fmt.Sprintf("listens %t", listens), func(t *testing.T) {
			t.Parallel()
			pool := pgtest.New(t, pgtest.MaxConns(2))
			g := newProcess(t, pool, "serve", forward)
			direct := fmt.Sprintf("url: %q", pgtest.URL(t, pool))
			g.reconfigure(t, direct, direct+listen)
			g.start(t)
			status, _ := g.deliver(t.Context(), "invoice.paid", "evt_1")
			require.Equal(t, http.StatusOK, status)
			require.Eventually(t, func() bool {
				return count(t, pool, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'dispatched'`) == 1
			}, patience, 10*time.Millisecond)
			listening := func() bool {
				return count(t, pool, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query ILIKE 'listen%'`) > 0
			}
			if listens {
				require.Eventually(t, listening, patience, 10*time.Millisecond)
			} else {
				require.Never(t, listening, time.Second, 50*time.Millisecond)
			}
			g.stop(t)
		})
	}
}

// reconfigure replaces text in the configuration.
func (g *process) reconfigure(t *testing.T, before, after string) {
	t.Helper()
	text, err := os.ReadFile(g.config)
	require.NoError(t, err)
	require.Contains(t, string(text), before)
	require.NoError(t, os.WriteFile(g.config, bytes.Replace(text, []byte(before), []byte(after), 1), 0o600))
}
