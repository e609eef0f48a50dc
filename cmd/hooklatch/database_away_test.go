package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func get(t *testing.T, url string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	r.Close = true
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	return response
}

func (s *system) ready(t *testing.T) (int, string) {
	t.Helper()
	response := get(t, s.admin+"/readyz")
	return response.StatusCode, getBody(t, response.Body)
}

// sendJSON delivers one event and returns the exit code and report.
func (s *system) sendJSON(t *testing.T, args ...string) (int, report) {
	t.Helper()
	var c command
	code := c.run(t.Context(), s.args(append([]string{"send"}, append(args, "--json")...)...)...)
	var r report
	require.NoError(t, json.Unmarshal([]byte(c.stdout.String()), &r), c.stderr.String())
	return code, r
}

func TestADatabaseThatIsAwayIs503AndComesBack(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Own())
	server := pgtest.Server(t, pool)
	pgtest.Kill(server)
	// The database is unavailable at the start.
	s := newSystem(t, systemOptions{pool: pool, waitNot: true, change: func(cfg *config.Config) { cfg.Gateway.AcceptTimeout = 2 * time.Second }})
	away(t, s)
	require.NoError(t, server.Restart(t.Context()))
	s.waitPrepared(t)
	require.NotContains(t, s.logs.String(), `"msg":"not ready"`, "the process was not ready before")
	require.Eventually(t, func() bool {
		code, _ := s.ready(t)
		return code == http.StatusOK
	}, patience, tick)
	require.Eventually(t, func() bool { // on a busy machine, a delivery may time out
		exit, _ := s.sendJSON(t, "stripe", "--id", "evt_before")
		return exit == exitOK
	}, patience, tick)
	s.waitDone(t, "stripe", "evt_before")

	// The database becomes unavailable later.
	pgtest.Kill(server)
	away(t, s)
	require.NoError(t, server.Restart(t.Context()))
	require.Eventually(t, func() bool {
		exit, _ := s.sendJSON(t, "stripe", "--id", "evt_after")
		return exit == exitOK
	}, patience, tick)
	require.Equal(t, 1, s.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE event_id = 'evt_after'`))
	s.waitDone(t, "stripe", "evt_after")
	require.Eventually(t, func() bool {
		code, _ := s.ready(t)
		return code == http.StatusOK
	}, patience, tick)
	require.Contains(t, s.logs.String(), "waiting for the database")
	require.Contains(t, s.logs.String(), "the database is back")
}

// away checks /readyz, /healthz and the responses to deliveries while the database is unavailable.
func away(t *testing.T, s *system) {
	t.Helper()
	code, body := s.ready(t)
	require.Equal(t, http.StatusServiceUnavailable, code, body)
	require.Equal(t, http.StatusOK, get(t, s.admin+"/healthz").StatusCode)
	exit, r := s.sendJSON(t, "stripe")
	require.Equal(t, exitFailed, exit)
	require.Equal(t, map[string]int{"503": 1}, r.ByStatus)
	require.JSONEq(t, `{"error":"unavailable, try again later"}`, r.Refused["503"])

	// A sender gets 503 with Retry-After.
	sign := command{}
	require.Equal(t, exitFailed, sign.run(t.Context(), s.args("send", "stripe", "--show")...))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/webhooks/stripe", strings.NewReader(shownBody(sign.stdout.String())))
	require.NoError(t, err)
	request.Close = true
	request.Header.Set("Stripe-Signature", shownHeader(sign.stdout.String(), "Stripe-Signature"))
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode, getBody(t, response.Body))
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
	s := &system{pool: pool}
	s.configPath = writeServedConfig(t, pgtest.URL(t, pool))
	c := command{name: "go run ./cmd/hooklatch"}
	require.Equal(t, exitFailed, c.run(t.Context(), s.args("worker")...))
	require.Contains(t, c.stderr.String(), s.printed("run: hooklatch migrate up"))

	c = command{}
	require.Equal(t, exitFailed, c.run(t.Context(), s.args("events", "list")...))
	require.Contains(t, c.stderr.String(), s.printed("run: hooklatch migrate up"))

	// With --migrate, the process starts.
	ctx, cancel := context.WithCancel(t.Context())
	c = command{}
	ended := make(chan int, 1)
	go func() { ended <- c.run(ctx, s.args("serve", "--migrate")...) }()
	require.Eventually(t, func() bool { return strings.Contains(c.stderr.String(), `"msg":"ready"`) }, patience, tick)
	cancel()
	require.Zero(t, <-ended, c.stderr.String())
	require.Contains(t, c.stderr.String(), "draining")
}

// An orchestrator may start processes and migrations simultaneously: with --await-migrations, a
// process waits.
func TestAProcessMayWaitForItsMigrations(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Empty())
	s := &system{pool: pool}
	s.configPath = writeServedConfig(t, pgtest.URL(t, pool))
	ctx, cancel := context.WithCancel(t.Context())
	var c command
	ended := make(chan int, 1)
	go func() { ended <- c.run(ctx, s.args("serve", "--await-migrations")...) }()
	require.Eventually(t, func() bool { return strings.Contains(c.stderr.String(), `"msg":"waiting for migrations"`) }, patience, tick)
	var up command
	require.Zero(t, up.run(t.Context(), s.args("migrate", "up")...), up.stderr.String())
	require.Eventually(t, func() bool { return strings.Contains(c.stderr.String(), `"msg":"ready"`) }, patience, tick)
	require.Contains(t, c.stderr.String(), "the migrations are applied")
	cancel()
	require.Zero(t, <-ended, c.stderr.String())
}

// An error that waiting cannot fix is reported immediately.
func TestAWrongPasswordEndsTheStart(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	at := pool.Config().ConnConfig
	path := writeConfig(t, "postgres://"+at.User+":canary-wrong@"+at.Host+":"+portOf(at.Port)+"/"+at.Database)
	var c command
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.Equal(t, exitFailed, c.run(ctx, "serve", "--config", path))
	require.NoError(t, ctx.Err())
	require.Contains(t, c.stderr.String(), "password authentication failed")
	require.NotContains(t, c.stderr.String(), "canary-wrong")
}
