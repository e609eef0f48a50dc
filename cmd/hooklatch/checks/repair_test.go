package checks

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/internal/repair"
)

// Both check and repair print the required command. Nothing is changed without --yes.
func TestRepairSaysWhatIsMissingAndWaitsForAPerson(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	clitest.Must(t, s.Args("send", "stripe", "--id", "evt_1")...)
	s.WaitDone(t, "stripe", "evt_1")
	require.Regexp(t, `(?m)^events without a live job +0\neffects without a live job +0\njobs that River discarded +0\nattempts with an expired lease +0\n$`,
		clitest.Must(t, s.Args("repair")...))
	require.Equal(t, "enqueued again: 0 events and 0 effects\n", clitest.Must(t, s.Args("repair", "--yes")...))
	require.Contains(t, clitest.Must(t, s.Args("repair", "--promoted")...), "nothing to confirm: system ")

	_, err := s.Pool.Exec(t.Context(), `UPDATE hooklatch.installation SET timeline = 0`)
	require.NoError(t, err)
	_, found := clitest.RunCheck(t, s.Args()...)
	require.Equal(t, doctor.Problem, found.Of("server")[0].Level)
	require.Contains(t, found.Of("server")[0].Message, "at_most_once effects are withheld: the database is on system ")
	require.Contains(t, clitest.Must(t, s.Args("repair")...), s.Printed("hooklatch repair --restored-to TIME\nif nothing is missing, confirm that:\n  hooklatch repair --promoted\n"))

	to := time.Now().Add(-10 * time.Minute).UTC().Format(time.RFC3339)
	shown := clitest.Must(t, s.Args("repair", "--restored-to", to)...)
	require.Regexp(t, `(?m)^stripe +\S+ \S+ +\S+ \S+ +- +\S+ \S+$`, shown)
	require.Contains(t, shown, s.Printed("0 at_most_once effects may have been done and will be parked\napply the repair with:\n  hooklatch repair --restored-to "+to+" --yes\n"))
	var view repair.Restore
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, s.Args("repair", "--restored-to", to, "--json")...)), &view))
	require.True(t, view.State.Withheld, "a preview changes nothing")
	require.Contains(t, clitest.Must(t, s.Args("repair", "--restored-to", to, "--yes", "--reason", "the disk of db1", "--as", "ann")...),
		s.Printed("0 at_most_once effects parked; see them with:\n  hooklatch effects list --state parked\n"))
	_, found = clitest.RunCheck(t, s.Args()...)
	require.Equal(t, doctor.OK, found.Of("server")[0].Level)
	require.Regexp(t, `ann +.*repair.restored +system .*, timeline \d+ .*the disk of db1`, clitest.Must(t, s.Args("audit")...))

	_, err = s.Pool.Exec(t.Context(), `UPDATE hooklatch.installation SET timeline = 0`)
	require.NoError(t, err)
	require.Contains(t, clitest.Must(t, s.Args("repair", "--promoted")...), s.Printed("hooklatch repair --promoted --yes\n"))
	require.Contains(t, clitest.Must(t, s.Args("repair", "--promoted", "--yes")...), "at_most_once effects start\n")

	var c clitest.Command
	require.Equal(t, cli.ExitMisused, c.Run(t.Context(), s.Args("repair", "--promoted", "--restored-to", to)...))
	c = clitest.Command{}
	require.Equal(t, cli.ExitMisused, c.Run(t.Context(), s.Args("repair", "--restored-to", "soon")...))
	c = clitest.Command{}
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("repair", "--restored-to", "2126-01-01T00:00:00Z")...))
	require.Contains(t, c.Stderr.String(), "the time is in the future")
}
