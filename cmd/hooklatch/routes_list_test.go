package main_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/routes"
)

// Each route is listed with its effect counts, its settings and its last error.
func TestRoutesAreListedWithWhatTheyDid(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	clitest.Must(t, s.Args("send", "stripe", "--id", "evt_1")...)
	s.WaitDone(t, "stripe", "evt_1")
	require.NoError(t, s.App.Stop(t.Context())) // Stop stores the counts
	text := clitest.Must(t, s.Args("routes", "list")...)
	require.Regexp(t, `^ROUTE +FROM +TYPES +TO +HOUR +DAY +LAST ERROR\n`, text)
	require.Regexp(t, `\nreceipts +stripe +invoice.paid +mail +1 created +1 created +none since `, text)
	require.Regexp(t, `\nunanswered .* - +- +none since `, text)
	text = clitest.Must(t, s.Args("routes", "show", "receipts")...)
	require.Regexp(t, `\nkey +body.data.object.id\n`, text)
	require.Regexp(t, `\n  timeout +15s\n`, text, "the destination's default")
	require.Regexp(t, `\n  last hour +1 matched, 1 created, 1 done, 0 failed, 0 parked, 0 not rendered, 0 suppressed, 0 superseded\n`, text)
	require.NotContains(t, clitest.Must(t, s.Args("routes", "show", "everything")...), "whsec_")

	var states []routes.State
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, s.Args("routes", "list", "--json")...)), &states))
	require.Len(t, states, 3)
	require.Equal(t, routes.Counts{Matched: 1, Created: 1, Done: 1}, states[0].Day)
	_, err := s.Pool.Exec(t.Context(), `UPDATE hooklatch.effects SET state = 'parked', finished_at = now(), error = E'no\x1b[2J' WHERE route = 'receipts'`)
	if err != nil { // a done effect stays done
		_, err = s.Pool.Exec(t.Context(), `SET session_replication_role = replica; UPDATE hooklatch.effects SET state = 'parked', error = E'no\x1b[2J' WHERE route = 'receipts'; RESET session_replication_role`)
	}
	require.NoError(t, err)
	text = clitest.Must(t, s.Args("routes", "list")...)
	require.Regexp(t, `\nreceipts .* parked: no`, text)
	require.NotContains(t, text, "\x1b")
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, s.Args("routes", "show", "receipts", "--json")...)), &states[0]))
	require.Equal(t, "stripe/evt_1", states[0].LastError.Event.String())
	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("routes", "show", "receits")...))
	require.Contains(t, c.Stderr.String(), `no route "receits"`)
}
