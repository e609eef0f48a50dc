package checks

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/outbox/retention"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A retention run stops before it deletes too much at once. Check reports this, and an operator can
// confirm the deletion.
func TestRetentionWaitsForAPerson(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	clitest.Must(t, s.Args("send", "stripe", "--id", "evt_1")...)
	s.WaitDone(t, "stripe", "evt_1")
	_, found := clitest.RunCheck(t, s.Args()...)
	require.Equal(t, doctor.OK, found.Of("retention")[0].Level)
	require.Eventually(t, func() bool {
		return !s.Counts(t, 0, `SELECT count(*) FROM hooklatch.retention_progress`)
	}, 2*time.Minute, 10*time.Millisecond)
	require.NoError(t, s.App.Stop(t.Context())) // the App's worker would also run retention
	// No progress is stored, so that retention starts at the oldest event and would delete months
	// at once.
	for _, statement := range []string{
		`DELETE FROM hooklatch.retention_progress`,
		`UPDATE hooklatch.processed_events SET received_at = now() - interval '200 days', processed_at = now() - interval '200 days'`,
	} {
		_, err := s.Pool.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("retention", "run")...), c.Stderr.String())
	require.Regexp(t, `(?m)^events +stripe +\S+ \S+ +0 +0 +0 +more than three days at once: the last run reached `, c.Stdout.String())
	require.Contains(t, c.Stdout.String(), s.Printed("confirm with:\n  hooklatch retention run --yes\n"))
	_, found = clitest.RunCheck(t, s.Args()...)
	require.Equal(t, doctor.Warning, found.Of("retention")[0].Level)
	require.Regexp(t, `^deletion stopped at .*: the next run would delete all events of stripe before .* at once`, found.Of("retention")[0].Message)

	var planned retention.Report
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, s.Args("retention", "run", "--dry-run", "--json")...)), &planned))
	require.True(t, planned.Stopped)
	require.True(t, s.Counts(t, 1, `SELECT count(*) FROM hooklatch.processed_events`))

	require.Regexp(t, `(?m)^events +stripe +\S+ \S+ +1 +\d+ +0$`, clitest.Must(t, s.Args("retention", "run", "--yes", "--as", "ann", "--reason", "it is meant")...))
	require.True(t, s.Counts(t, 0, `SELECT count(*) FROM hooklatch.processed_events`))
	require.Regexp(t, `(?m)ann +cli +retention.run +events of stripe.* +retention continues +it is meant$`, clitest.Must(t, s.Args("audit")...))
	_, found = clitest.RunCheck(t, s.Args()...)
	require.Equal(t, doctor.OK, found.Of("retention")[0].Level)
	c = clitest.Command{}
	require.Equal(t, cli.ExitMisused, c.Run(t.Context(), s.Args("retention", "run", "--yes", "--dry-run")...))
}

// If DATABASE_URL is set, commands need no configuration. The defaults never replace an existing
// configuration, and retention deletes nothing without a configuration: the processes may export
// days first.
func TestDefaultsReplaceOnlyAMissingConfiguration(t *testing.T) {
	t.Chdir(t.TempDir())
	env := map[string]string{"DATABASE_URL": pgtest.URL(t, pgtest.New(t))}
	run := func(want int, line string) string {
		t.Helper()
		c := clitest.Command{Env: env}
		require.Equal(t, want, c.Run(t.Context(), strings.Fields(line)...), "%s\n%s%s", line, c.Stdout.String(), c.Stderr.String())
		return c.Stderr.String()
	}
	const note = "no configuration was found, so the defaults apply: the schema hooklatch, no cells and no export; name a file with --config\n"
	for _, line := range []string{"retention run --dry-run", "effects list", "migrate status"} {
		require.Equal(t, clitest.TestName+": "+note, run(cli.ExitOK, line), line)
	}
	require.Contains(t, run(cli.ExitMisused, "effects list --cell eu"), "--cell eu: the default configuration has no such cell; its cells are main\n")
	require.Contains(t, run(cli.ExitFailed, "retention run"), "neither ./hooklatch.yaml nor ./.hooklatch/dev.yaml exists; name a file with --config; without a configuration, ")

	require.NoError(t, os.WriteFile(config.DefaultPath, []byte("{}"), 0o600))
	require.NoError(t, os.Chmod(config.DefaultPath, 0o602)) // whatever the umask is
	for _, line := range []string{
		"retention run", "retention run --dry-run", "migrate up", "migrate status", "status", "repair", "import keys stripe keys.csv", "backfill stripe --since 1h",
		"events list", "events show stripe evt_1", "events erase stripe evt_1", "effects list", "quarantine list",
	} {
		require.Contains(t, run(cli.ExitFailed, line), "./hooklatch.yaml is not used automatically because it can be written by every user of this machine (mode 0602)", line)
	}
	require.Contains(t, run(cli.ExitOK, "providers"), "the configuration has problems and is ignored")
}
