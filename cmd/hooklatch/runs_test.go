package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/firstrun"
	"github.com/hooklatch/hooklatch/internal/program/life"
	"github.com/hooklatch/hooklatch/outbox/runs"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// alone returns a system with n failed effects in a database that no process uses.
func alone(t *testing.T, n int) *clitest.System {
	t.Helper()
	s := &clitest.System{Pool: pgtest.New(t), ConfigPath: filepath.Join(t.TempDir(), "hooklatch.yaml")}
	require.NoError(t, os.WriteFile(s.ConfigPath, fmt.Appendf(nil, "database: {url: %s}\n", firstrun.Scalar(pgtest.URL(t, s.Pool))), 0o600))
	_, err := s.Pool.Exec(t.Context(), fmt.Sprintf(`
		SET session_replication_role = replica;
		INSERT INTO hooklatch.effects (scope, key, generation, idempotency_key, route, destination, queue, policy, request_type, request_body,
			state, first_attempt_at, attempt, last_attempt_at, response_status, finished_at, error)
		SELECT 'enqueue:app', 'k' || i, 1, hooklatch.idempotency_key('enqueue:app', 'k' || i, 1), '', 'app', 'dst_app',
			'at_least_once', 'application/json', '{}', 'failed', at, 1, at, 404, at, 'HTTP 404 Not Found'
		FROM generate_series(1, %d) AS i, now() AS at;
		RESET session_replication_role`, n))
	require.NoError(t, err)
	return s
}

func retryAll(s *clitest.System, more ...string) []string {
	return s.Args(append([]string{"effects", "retry", "--state", "failed", "--as", "ann"}, more...)...)
}

// hasBegun returns a function that reports whether a run has changed an effect.
func hasBegun(t *testing.T, s *clitest.System) func() bool {
	return func() bool { return s.Counts(t, 1, `SELECT count(*) FROM hooklatch.replay_runs WHERE changed > 0`) }
}

// A command carries out its run without a worker. An interrupt pauses the run, and the counts add
// up when another command continues it.
func TestARunIsInterruptedAndResumedWithoutAWorker(t *testing.T) {
	t.Parallel()
	const n = 50
	s := alone(t, n)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var c clitest.Command
	ended := make(chan int)
	go func() {
		ended <- c.Run(ctx, retryAll(s, "--rate", "0.01", "--yes", "--name", "after the fix", "--reason", "it is up")...)
	}()
	require.Eventually(t, hasBegun(t, s), clitest.Patience, clitest.Tick)
	interrupt()
	require.Equal(t, cli.ExitFailed, <-ended)
	require.Equal(t, "1 of 50 effects tried again\n", c.Stdout.String())
	require.Contains(t, c.Stderr.String(), "run 1: retry effects: state failed\n")
	require.Contains(t, c.Stderr.String(), s.Printed("paused; resume it with:\n  hooklatch runs resume 1\nhooklatch: interrupted\n"))
	require.Equal(t, "it is up; interrupted", s.Text(t, `SELECT reason FROM hooklatch.operator_log WHERE action = 'run.pause' AND who = 'ann'`))

	listed := clitest.Must(t, s.Args("runs", "list")...)
	require.Regexp(t, `(?m)^RUN +STARTED +STATE +ACTION +DONE +REQUESTED BY +NAME$`, listed)
	require.Regexp(t, `(?m)^1 +20\S+ \S+ +paused +retry effects: state failed +1 of 50 +ann +after the fix$`, listed)
	show := clitest.Must(t, s.Args("runs", "show", "1")...)
	for _, line := range []string{
		`name +after the fix`, `action +retry effects: state failed`, `started +20.* by ann, cli: it is up`, `state +paused since 20.*Z`,
		`pace +at most 0.01 per second`, `done +1 of 50 effects tried again`,
	} {
		require.Regexp(t, "(?m)^"+line+"$", show)
	}

	require.Equal(t, "run 1 is no longer limited\n", clitest.Must(t, s.Args("runs", "pace", "1", "0")...))
	require.Equal(t, "50 effects tried again\n", clitest.Must(t, s.Args("runs", "resume", "1", "--here")...))
	require.Equal(t, n, s.Count(t, `SELECT count(*) FROM hooklatch.effect_transitions WHERE reason = 'retried by ann: it is up (run 1)'`))
	var run life.Run
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, s.Args("runs", "show", "1", "--json")...)), &run))
	require.Equal(t, runs.Done, run.State)
	require.Equal(t, runs.Counts{Selected: n, Changed: n}, run.Counts)
	require.Equal(t, int64(n), run.Total)
	require.Equal(t, 1, s.Count(t, `SELECT count(*) FROM hooklatch.operator_log WHERE action = 'effect.retry'`), "one action has one row")
}

func TestADetachedRunIsLeftToWhoeverIsThere(t *testing.T) {
	t.Parallel()
	s := alone(t, 5)
	require.Equal(t, s.Printed("run 1: retry effects: state failed\nwatch it with:\n  hooklatch runs show 1\n"), clitest.Must(t, retryAll(s, "--yes", "--detach")...))
	require.False(t, hasBegun(t, s)())
	require.Contains(t, clitest.Must(t, s.Args("runs", "show", "1")...), ", waiting for a process\n")

	// Another process carries out the run: the command waits, and an interrupt still pauses the
	// run.
	_, err := s.Pool.Exec(t.Context(), `UPDATE hooklatch.replay_runs SET worker = gen_random_uuid(), leased_until = now() + interval '1 hour'`)
	require.NoError(t, err)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var c clitest.Command
	ended := make(chan int)
	go func() { ended <- c.Run(ctx, s.Args("runs", "resume", "1", "--here")...) }()
	require.Eventually(t, func() bool { return c.Stderr.String() == "run 1: retry effects: state failed\n" }, clitest.Patience, clitest.Tick)
	interrupt()
	require.Equal(t, cli.ExitFailed, <-ended)
	require.Equal(t, "0 of 5 effects tried again\n", c.Stdout.String())
	require.Equal(t, "paused", s.Text(t, `SELECT state FROM hooklatch.replay_runs`))

	var run life.Run
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, s.Args("runs", "resume", "1", "--here", "--json")...)), &run))
	require.Equal(t, runs.Done, run.State)
	require.Equal(t, int64(5), run.Changed)
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, s.Args("events", "replay", "--state", "skipped", "--yes", "--detach", "--json")...)), &run))
	require.Equal(t, int64(2), run.ID)
	require.Equal(t, runs.Running, run.State)
	require.JSONEq(t, `{"state": "skipped", "last": -1}`, string(run.Filter))
}

// A command reports that another operator paused or stopped its run.
func TestARunIsStoppedBehindItsCommand(t *testing.T) {
	t.Parallel()
	for done, said := range map[string]string{"pause": "hooklatch: run 1 was paused by another command or process\n", "stop": "hooklatch: run 1 was stopped\n"} {
		t.Run(done, func(t *testing.T) {
			t.Parallel()
			s := alone(t, 100)
			var c clitest.Command
			ended := make(chan int)
			go func() { ended <- c.Run(t.Context(), retryAll(s, "--rate", "1", "--yes", "--json")...) }()
			require.Eventually(t, hasBegun(t, s), clitest.Patience, clitest.Tick)
			clitest.Must(t, s.Args("runs", done, "1", "--as", "bob")...)
			require.Equal(t, cli.ExitFailed, <-ended)
			require.Contains(t, c.Stderr.String(), said)
			var v cli.ManyView
			require.NoError(t, json.Unmarshal([]byte(c.Stdout.String()), &v))
			require.True(t, v.Stopped)
			require.Equal(t, int64(100), v.Selected)
			require.Equal(t, int64(s.Count(t, `SELECT changed FROM hooklatch.replay_runs`)), v.Changed)
			require.Equal(t, map[string]string{"pause": s.Printed("hooklatch runs resume 1")}[done], v.Command)
		})
	}
}

func TestRunsAreSteeredByCommands(t *testing.T) {
	t.Parallel()
	s := alone(t, 1)
	require.Equal(t, "no runs\n", clitest.Must(t, s.Args("runs", "list")...))
	require.JSONEq(t, `[]`, clitest.Must(t, s.Args("runs", "list", "--json")...))
	require.Equal(t, "no runs\n", clitest.Must(t, s.Args("replays", "list")...), "scripts for the previous release use the former name")
	require.NotContains(t, clitest.Must(t, "--help"), "replays")
	clitest.Must(t, retryAll(s, "--yes", "--detach")...)
	clitest.Must(t, retryAll(s, "--yes", "--detach")...)
	order := func(args ...string) string { return clitest.Must(t, s.Args(append([]string{"runs"}, args...)...)...) }
	refused := func(said string, args ...string) {
		t.Helper()
		var c clitest.Command
		require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args(append([]string{"runs"}, args...)...)...))
		require.Equal(t, s.Printed("hooklatch: "+said+"\n"), c.Stderr.String())
	}
	require.Equal(t, "run 1 is paused\n", order("pause", "1", "--as", "bob", "--reason", "too fast"))
	refused("the run is already paused", "pause", "1")
	require.Equal(t, "run 1 is limited to 2.5 changes per second\n", order("pace", "1", "2.5"))
	require.JSONEq(t, `{"action": "run.resume", "target": "run 1", "result": "resumed"}`, order("resume", "1", "--json"))
	refused("the run is already running", "resume", "1")
	require.Equal(t, "run 1 is stopped\n", order("stop", "1"))
	refused("the run is stopped: it can no longer be changed", "resume", "1", "--here")
	for _, args := range [][]string{{"show", "99"}, {"pause", "99"}, {"resume", "99"}, {"resume", "99", "--here"}, {"stop", "99"}, {"pace", "99", "1"}} {
		refused("no run has the number 99; list runs with: hooklatch runs list", args...)
	}
	require.Equal(t, "run.pause bob too fast (run 1)", s.Text(t,
		`SELECT concat_ws(' ', action, who, reason) || ' (run ' || run_id || ')' FROM hooklatch.operator_log WHERE action = 'run.pause'`))

	var listed []life.Run
	require.NoError(t, json.Unmarshal([]byte(order("list", "--json", "--limit", "1")), &listed))
	require.Len(t, listed, 1)
	require.Equal(t, int64(2), listed[0].ID, "the newest first")
	matchesGolden(t, "runs_list", order("list", "--json"))
}
