package processes

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestADatabaseThatIsAwayIs503AndComesBack(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Own())
	server := pgtest.Server(t, pool)
	pgtest.Kill(server)
	// The database is unavailable at the start.
	s := clitest.NewSystem(t, clitest.SystemOptions{Pool: pool, WaitNot: true, Change: func(cfg *config.Config) { cfg.Gateway.AcceptTimeout = 2 * time.Second }})
	away(t, s)
	require.NoError(t, server.Restart(t.Context()))
	s.WaitPrepared(t)
	require.NotContains(t, s.Logs.String(), `"msg":"not ready"`, "the process was not ready before")
	require.Eventually(t, func() bool {
		code, _ := s.Ready(t)
		return code == http.StatusOK
	}, clitest.Patience, clitest.Tick)
	require.Eventually(t, func() bool { // on a busy machine, a delivery may time out
		exit, _ := s.SendJSON(t, "stripe", "--id", "evt_before")
		return exit == cli.ExitOK
	}, clitest.Patience, clitest.Tick)
	s.WaitDone(t, "stripe", "evt_before")

	// The database becomes unavailable later.
	pgtest.Kill(server)
	away(t, s)
	require.NoError(t, server.Restart(t.Context()))
	require.Eventually(t, func() bool {
		exit, _ := s.SendJSON(t, "stripe", "--id", "evt_after")
		return exit == cli.ExitOK
	}, clitest.Patience, clitest.Tick)
	require.Equal(t, 1, s.Count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE event_id = 'evt_after'`))
	s.WaitDone(t, "stripe", "evt_after")
	require.Eventually(t, func() bool {
		code, _ := s.Ready(t)
		return code == http.StatusOK
	}, clitest.Patience, clitest.Tick)
	require.Contains(t, s.Logs.String(), "waiting for the database")
	require.Contains(t, s.Logs.String(), "the database is back")
}

// away checks /readyz, /healthz and the responses to deliveries while the database is unavailable.
func away(t *testing.T, s *clitest.System) {
	t.Helper()
	code, body := s.Ready(t)
	require.Equal(t, http.StatusServiceUnavailable, code, body)
	require.Equal(t, http.StatusOK, clitest.Get(t, s.Admin+"/healthz").StatusCode)
	exit, r := s.SendJSON(t, "stripe")
	require.Equal(t, cli.ExitFailed, exit)
	require.Equal(t, map[string]int{"503": 1}, r.ByStatus)
	require.JSONEq(t, `{"error":"unavailable, try again later"}`, r.Refused["503"])

	// A sender gets 503 with Retry-After.
	sign := clitest.Command{}
	require.Equal(t, cli.ExitFailed, sign.Run(t.Context(), s.Args("send", "stripe", "--show")...))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/webhooks/stripe", strings.NewReader(shownBody(sign.Stdout.String())))
	require.NoError(t, err)
	request.Close = true
	request.Header.Set("Stripe-Signature", shownHeader(sign.Stdout.String(), "Stripe-Signature"))
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode, clitest.GetBody(t, response.Body))
	require.NotEmpty(t, response.Header.Get("Retry-After"))
}

// shownHeader and shownBody parse the output of send --show.
func shownHeader(shown, name string) string {
	_, after, _ := strings.Cut(shown, name+": ")
	value, _, _ := strings.Cut(after, "\n")
	return value
}

func shownBody(shown string) string {
	_, after, _ := strings.Cut(shown, "\n\n")
	body, _, _ := strings.Cut(after, "\n\n")
	return body
}

func TestADatabaseThatIsNotMigratedEndsTheStart(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Empty())
	s := &clitest.System{Pool: pool}
	s.ConfigPath = clitest.WriteServedConfig(t, pgtest.URL(t, pool))
	c := clitest.Command{Name: "go run ./cmd/hooklatch"}
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("worker")...))
	require.Contains(t, c.Stderr.String(), s.Printed("run: hooklatch migrate up"))

	c = clitest.Command{}
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("events", "list")...))
	require.Contains(t, c.Stderr.String(), s.Printed("run: hooklatch migrate up"))

	// With --migrate, the process starts.
	ctx, cancel := context.WithCancel(t.Context())
	c = clitest.Command{}
	ended := make(chan int, 1)
	go func() { ended <- c.Run(ctx, s.Args("serve", "--migrate")...) }()
	require.Eventually(t, func() bool { return strings.Contains(c.Stderr.String(), `"msg":"ready"`) }, clitest.Patience, clitest.Tick)
	cancel()
	require.Zero(t, <-ended, c.Stderr.String())
	require.Contains(t, c.Stderr.String(), "draining")
}

// An orchestrator may start processes and migrations simultaneously: with --await-migrations, a
// process waits.
func TestAProcessMayWaitForItsMigrations(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Empty())
	s := &clitest.System{Pool: pool}
	s.ConfigPath = clitest.WriteServedConfig(t, pgtest.URL(t, pool))
	ctx, cancel := context.WithCancel(t.Context())
	var c clitest.Command
	ended := make(chan int, 1)
	go func() { ended <- c.Run(ctx, s.Args("serve", "--await-migrations")...) }()
	require.Eventually(t, func() bool { return strings.Contains(c.Stderr.String(), `"msg":"waiting for migrations"`) }, clitest.Patience, clitest.Tick)
	var up clitest.Command
	require.Zero(t, up.Run(t.Context(), s.Args("migrate", "up")...), up.Stderr.String())
	require.Eventually(t, func() bool { return strings.Contains(c.Stderr.String(), `"msg":"ready"`) }, clitest.Patience, clitest.Tick)
	require.Contains(t, c.Stderr.String(), "the migrations are applied")
	cancel()
	require.Zero(t, <-ended, c.Stderr.String())
}

// An error that waiting cannot fix is reported immediately.
func TestAWrongPasswordEndsTheStart(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	at := pool.Config().ConnConfig
	path := clitest.WriteConfig(t, "postgres://"+at.User+":canary-wrong@"+at.Host+":"+clitest.PortOf(at.Port)+"/"+at.Database)
	var c clitest.Command
	ctx, cancel := context.WithTimeout(t.Context(), clitest.Patience)
	defer cancel()
	require.Equal(t, cli.ExitFailed, c.Run(ctx, "serve", "--config", path))
	require.NoError(t, ctx.Err())
	require.Contains(t, c.Stderr.String(), "password authentication failed")
	require.NotContains(t, c.Stderr.String(), "canary-wrong")
}
