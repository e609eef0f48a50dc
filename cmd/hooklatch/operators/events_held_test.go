package operators

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/config"
)

// A captured GitHub delivery that is replayed under another id is held, whatever its type, and
// check finds the event. The event has effects only if an operator releases it.
func TestHeldEventsWaitForAPerson(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{Change: func(cfg *config.Config) {
		github := cfg.Sources["github"]
		github.ReplayGuard = config.ReplayHold
		cfg.Sources["github"] = github
	}})
	body := filepath.Join(t.TempDir(), "body.json")
	require.NoError(t, os.WriteFile(body, []byte(`{"zen":"Keep it logically awesome."}`), 0o600))
	for i, event := range []string{"push", "release", "push", "deployment", "star"} {
		clitest.Must(t, s.Args("send", "github", body, "--id", fmt.Sprintf("id-%d", i+1), "--header", "X-GitHub-Event="+event)...)
	}
	s.WaitDone(t, "github", "id-1")
	held := func() int {
		return s.Count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'held'`)
	}
	require.Equal(t, 4, held())
	require.Equal(t, 1, s.Count(t, `SELECT count(*) FROM hooklatch.effects`))

	require.Contains(t, clitest.Must(t, s.Args("events", "list", "--state", "held")...), "id-4")
	require.Contains(t, clitest.Must(t, s.Args("events", "show", "github", "id-2")...), s.Printed("until an operator decides: hooklatch events release"))
	var c clitest.Command
	c.Run(t.Context(), s.Args("check")...)
	require.Contains(t, c.Stdout.String(), "no event is held as a suspected replay; 4 found")
	c = clitest.Command{}
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("events", "replay", "github", "id-2")...))
	require.Contains(t, c.Stderr.String(), "a replay guard holds it until it is released or dropped")
	require.Regexp(t, `^1 event selected\n(?s:.*)\nreplay them with the same command and --yes\n$`, clitest.Must(t, s.Args("events", "replay", "--source", "github")...))

	require.Equal(t, "github/id-2 is released: it is waiting to be dispatched\n",
		clitest.Must(t, s.Args("events", "release", "github", "id-2", "--as", "ann", "--reason", "asked the team")...))
	s.WaitDone(t, "github", "id-2")
	c = clitest.Command{}
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("events", "release", "github", "id-2", "--yes", "--json")...), "a release that changes nothing is accepted")
	require.Contains(t, c.Stderr.String(), "the event is not held")
	require.Equal(t, "github/id-3 is dropped: it causes no effects\n", clitest.Must(t, s.Args("events", "drop", "github/id-3", "--as", "ann")...))
	require.Contains(t, clitest.Must(t, s.Args("events", "show", "github", "id-3")...), "dropped by ann")
	require.Regexp(t, `^2 events selected\n(?s:.*)\ndrop them with the same command and --yes\n$`, clitest.Must(t, s.Args("events", "drop", "--source", "github")...))
	require.JSONEq(t, `{"action":"event.drop","preview":true,"selected":2}`, only(t, clitest.Must(t, s.Args("events", "drop", "--source", "github", "--json")...), "action", "preview", "selected"))
	require.Equal(t, 2, held())
	require.Equal(t, "1 event dropped\n", clitest.Must(t, s.Args("events", "drop", "--type", "star", "--yes")...))
	require.Regexp(t, `dropped by \S+: \(run \d+\)`, clitest.Must(t, s.Args("events", "show", "github", "id-5")...))
	require.Equal(t, "1 event released\n", clitest.Must(t, s.Args("events", "release", "--source", "github", "--since", "1h", "--yes")...))
	s.WaitDone(t, "github", "id-4")

	require.JSONEq(t, `{"action":"event.release","target":"github/id-3","result":"released: it is waiting to be dispatched"}`,
		clitest.Must(t, s.Args("events", "release", "github", "id-3", "--json")...))
	s.WaitDone(t, "github", "id-3")
	c = clitest.Command{}
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("events", "drop", "github", "id-4")...))
	require.Contains(t, c.Stderr.String(), "the event is not held: it is dispatched")
	c = clitest.Command{}
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("events", "drop", "github", "id-9")...))
	require.Contains(t, c.Stderr.String(), "no event is stored as github/id-9")

	audit := clitest.Must(t, s.Args("audit")...)
	require.Contains(t, audit, "event.release")
	require.Contains(t, audit, "event.drop")
	require.Contains(t, audit, "asked the team")
	require.Equal(t, 5, s.Count(t, `SELECT count(*) FROM hooklatch.operator_log`))
	require.Equal(t, 2, s.Count(t, `SELECT count(*) FROM hooklatch.operator_log WHERE filter <> '{}'`))
}

// only removes all members but the named ones from a JSON object.
func only(t *testing.T, text string, names ...string) string {
	t.Helper()
	var all map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(text), &all))
	for name := range all {
		if !slices.Contains(names, name) {
			delete(all, name)
		}
	}
	left, err := json.Marshal(all)
	require.NoError(t, err)
	return string(left)
}
