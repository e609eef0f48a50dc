package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/outbox/retention"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A retention run stops before it deletes too much at once. Check reports this, and an operator can
// confirm the deletion.
func TestRetentionWaitsForAPerson(t *testing.T) {
	t.Parallel()
	s := newSystem(t, systemOptions{})
	must(t, s.args("send", "stripe", "--id", "evt_1")...)
	s.waitDone(t, "stripe", "evt_1")
	_, found := runCheck(t, s.args()...)
	require.Equal(t, doctor.OK, found.of("retention")[0].Level)
	require.Eventually(t, func() bool {
		return !s.counts(t, 0, `SELECT count(*) FROM hooklatch.retention_progress`)
	}, 2*time.Minute, 10*time.Millisecond)
	require.NoError(t, s.app.Stop(t.Context())) // the App's worker would also run retention
	// No progress is stored, so that retention starts at the oldest event and would delete months
	// at once.
	for _, statement := range []string{
		`DELETE FROM hooklatch.retention_progress`,
		`UPDATE hooklatch.processed_events SET received_at = now() - interval '200 days', processed_at = now() - interval '200 days'`,
	} {
		_, err := s.pool.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	var c command
	require.Equal(t, exitFailed, c.run(t.Context(), s.args("retention", "run")...), c.stderr.String())
	require.Regexp(t, `(?m)^events +stripe +\S+ \S+ +0 +0 +0 +more than three days at once: the last run reached `, c.stdout.String())
	require.Contains(t, c.stdout.String(), s.printed("confirm with:\n  hooklatch retention run --yes\n"))
	_, found = runCheck(t, s.args()...)
	require.Equal(t, doctor.Warning, found.of("retention")[0].Level)
	require.Regexp(t, `^deletion stopped at .*: the next run would delete all events of stripe before .* at once`, found.of("retention")[0].Message)

	var planned retention.Report
	require.NoError(t, json.Unmarshal([]byte(must(t, s.args("retention", "run", "--dry-run", "--json")...)), &planned))
	require.True(t, planned.Stopped)
	require.True(t, s.counts(t, 1, `SELECT count(*) FROM hooklatch.processed_events`))

	require.Regexp(t, `(?m)^events +stripe +\S+ \S+ +1 +\d+ +0$`, must(t, s.args("retention", "run", "--yes", "--as", "ann", "--reason", "it is meant")...))
	require.True(t, s.counts(t, 0, `SELECT count(*) FROM hooklatch.processed_events`))
	require.Regexp(t, `(?m)ann +cli +retention.run +events of stripe.* +retention continues +it is meant$`, must(t, s.args("audit")...))
	_, found = runCheck(t, s.args()...)
	require.Equal(t, doctor.OK, found.of("retention")[0].Level)
	c = command{}
	require.Equal(t, exitMisused, c.run(t.Context(), s.args("retention", "run", "--yes", "--dry-run")...))
}

// If DATABASE_URL is set, commands need no configuration. They never replace an existing one with
// the defaults, and retention deletes nothing without one: the processes may export days first.
func TestDefaultsReplaceOnlyAMissingConfiguration(t *testing.T) {
	t.Chdir(t.TempDir())
	env := map[string]string{"DATABASE_URL": pgtest.URL(t, pgtest.New(t))}
	run := func(want int, line string) string {
		t.Helper()
		c := command{env: env}
		require.Equal(t, want, c.run(t.Context(), strings.Fields(line)...), "%s\n%s%s", line, c.stdout.String(), c.stderr.String())
		return c.stderr.String()
	}
	const note = "no configuration was found, so the defaults apply: the schema hooklatch, no cells and no export; name a file with --config\n"
	for _, line := range []string{"retention run --dry-run", "effects list", "migrate status"} {
		require.Equal(t, testName+": "+note, run(exitOK, line), line)
	}
	require.Contains(t, run(exitMisused, "effects list --cell eu"), "--cell eu: the default configuration has no such cell; its cells are main\n")
	require.Contains(t, run(exitFailed, "retention run"), "neither ./hooklatch.yaml nor ./.hooklatch/dev.yaml exists; name a file with --config; without a configuration, ")

	require.NoError(t, os.WriteFile(config.DefaultPath, []byte("{}"), 0o600))
	require.NoError(t, os.Chmod(config.DefaultPath, 0o602)) // whatever the umask is
	for _, line := range []string{
		"retention run", "retention run --dry-run", "migrate up", "migrate status", "status", "repair", "import keys stripe keys.csv", "backfill stripe --since 1h",
		"events list", "events show stripe evt_1", "events erase stripe evt_1", "effects list", "quarantine list",
	} {
		require.Contains(t, run(exitFailed, line), "./hooklatch.yaml is not used automatically because it can be written by every user of this machine (mode 0602)", line)
	}
	require.Contains(t, run(exitOK, "providers"), "the configuration has problems and is ignored")
}
