package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/internal/repair"
)

// Both check and repair print the required command. Nothing is changed without --yes.
func TestRepairSaysWhatIsMissingAndWaitsForAPerson(t *testing.T) {
	t.Parallel()
	s := newSystem(t, systemOptions{})
	must(t, s.args("send", "stripe", "--id", "evt_1")...)
	s.waitDone(t, "stripe", "evt_1")
	require.Regexp(t, `(?m)^events without a live job +0\neffects without a live job +0\njobs that River discarded +0\nattempts with an expired lease +0\n$`,
		must(t, s.args("repair")...))
	require.Equal(t, "enqueued again: 0 events and 0 effects\n", must(t, s.args("repair", "--yes")...))
	require.Contains(t, must(t, s.args("repair", "--promoted")...), "nothing to confirm: system ")

	_, err := s.pool.Exec(t.Context(), `UPDATE hooklatch.installation SET timeline = 0`)
	require.NoError(t, err)
	_, found := runCheck(t, s.args()...)
	require.Equal(t, doctor.Problem, found.of("server")[0].Level)
	require.Contains(t, found.of("server")[0].Message, "at_most_once effects are withheld: the database is on system ")
	require.Contains(t, must(t, s.args("repair")...), s.printed("hooklatch repair --restored-to TIME\nif nothing is missing, confirm that:\n  hooklatch repair --promoted\n"))

	to := time.Now().Add(-10 * time.Minute).UTC().Format(time.RFC3339)
	shown := must(t, s.args("repair", "--restored-to", to)...)
	require.Regexp(t, `(?m)^stripe +\S+ \S+ +\S+ \S+ +- +\S+ \S+$`, shown)
	require.Contains(t, shown, s.printed("0 at_most_once effects may have been done and will be parked\napply the repair with:\n  hooklatch repair --restored-to "+to+" --yes\n"))
	var view repair.Restore
	require.NoError(t, json.Unmarshal([]byte(must(t, s.args("repair", "--restored-to", to, "--json")...)), &view))
	require.True(t, view.State.Withheld, "a preview changes nothing")
	require.Contains(t, must(t, s.args("repair", "--restored-to", to, "--yes", "--reason", "the disk of db1", "--as", "ann")...),
		s.printed("0 at_most_once effects parked; see them with:\n  hooklatch effects list --state parked\n"))
	_, found = runCheck(t, s.args()...)
	require.Equal(t, doctor.OK, found.of("server")[0].Level)
	require.Regexp(t, `ann +.*repair.restored +system .*, timeline \d+ .*the disk of db1`, must(t, s.args("audit")...))

	_, err = s.pool.Exec(t.Context(), `UPDATE hooklatch.installation SET timeline = 0`)
	require.NoError(t, err)
	require.Contains(t, must(t, s.args("repair", "--promoted")...), s.printed("hooklatch repair --promoted --yes\n"))
	require.Contains(t, must(t, s.args("repair", "--promoted", "--yes")...), "at_most_once effects start\n")

	var c command
	require.Equal(t, exitMisused, c.run(t.Context(), s.args("repair", "--promoted", "--restored-to", to)...))
	c = command{}
	require.Equal(t, exitMisused, c.run(t.Context(), s.args("repair", "--restored-to", "soon")...))
	c = command{}
	require.Equal(t, exitFailed, c.run(t.Context(), s.args("repair", "--restored-to", "2126-01-01T00:00:00Z")...))
	require.Contains(t, c.stderr.String(), "the time is in the future")
}
