package operators

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// sendAll delivers stripe events with these ids and waits until they are done.
func sendAll(t *testing.T, s *clitest.System, ids ...string) {
	t.Helper()
	for _, id := range ids {
		clitest.Must(t, s.Args("send", "stripe", "--id", id)...)
		s.WaitDone(t, "stripe", id)
	}
}

var goesOn = regexp.MustCompile(`continue with:\n  \S+ (.*)\n`)

// A list prints the command that continues it.
func TestListsGoOnWhereTheyEnded(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	sendAll(t, s, "evt_1", "evt_2", "evt_3")
	for _, kind := range []string{"events", "effects"} {
		var found []string
		args := s.Args(kind, "list", "--limit", "2", "--source", "stripe", "--when", `event.type != "none"`)
		for more := true; more; {
			var c clitest.Command
			require.Zero(t, c.Run(t.Context(), args...), c.Stderr.String())
			for line := range strings.Lines(c.Stdout.String()) {
				if id := regexp.MustCompile(`evt_\d`).FindString(line); id != "" {
					found = append(found, id)
				}
			}
			var next []string
			if next = goesOn.FindStringSubmatch(c.Stderr.String()); next != nil {
				args = s.Args(kind, "list", "--limit", "2", "--source", "stripe", "--when", `event.type != "none"`, "--cursor", next[1][strings.LastIndex(next[1], " ")+1:])
			}
			more = next != nil
		}
		want := map[string][]string{
			"events": {"evt_3", "evt_2", "evt_1"}, "effects": {"evt_3", "evt_3", "evt_2", "evt_2", "evt_1", "evt_1"},
		}
		require.Equal(t, want[kind], found, kind)
	}
	require.Contains(t, clitest.Must(t, s.Args("events", "list", "--id", "evt_2")...), "evt_2")
	require.NotContains(t, clitest.Must(t, s.Args("events", "list", "--id", "evt_2")...), "evt_3")
	require.Equal(t, "no events\n", clitest.Must(t, s.Args("events", "list", "--when", `body.id == "evt_none"`)...))
	require.Contains(t, clitest.Must(t, s.Args("events", "list", "--when", `body.id == "evt_2"`)...), "evt_2")
	require.Contains(t, clitest.Must(t, s.Args("effects", "list", "--when", `body.id == "evt_2"`, "--destination", "app")...), "stripe/evt_2")
	require.Equal(t, "no events\n", clitest.Must(t, s.Args("events", "list", "--effects", "none")...))
	require.Contains(t, clitest.Must(t, s.Args("events", "list", "--effects", "pending,started,done")...), "evt_1")
	require.Regexp(t, `CREATED +EFFECT +ROUTE +DESTINATION +EVENT +TYPE +STATE`, clitest.Must(t, s.Args("effects", "list")...))

	var c clitest.Command
	require.Zero(t, c.Run(t.Context(), s.Args("events", "list", "--when", `body.none > 1`)...))
	require.Equal(t, "no events\n", c.Stdout.String())
	require.Contains(t, c.Stderr.String(), "3 left out: --when failed; first error: ")
	for _, args := range [][]string{
		{"events", "list", "--follow", "--since", "1h"},
		{"events", "list", "--when", "nothing"},
		{"effects", "list", "--follow", "--cursor", "1.hl_1"},
		{"events", "list", "--since", "1h", "--until", "2h"},
	} {
		c = clitest.Command{}
		require.Equal(t, cli.ExitMisused, c.Run(t.Context(), s.Args(args...)...), args)
	}
}

func TestFollowPrintsWhatComes(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	sendAll(t, s, "evt_1")
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var c clitest.Command
	ended := make(chan int)
	go func() { ended <- c.Run(ctx, s.Args("events", "list", "--follow", "--json")...) }()
	for n := 2; c.Stdout.String() == ""; n++ { // events from before the first query are not printed
		sendAll(t, s, fmt.Sprintf("evt_%d", n))
		require.Less(t, n, 1_000)
	}
	sendAll(t, s, "evt_last")
	require.Eventually(t, func() bool { return strings.Contains(c.Stdout.String(), `"evt_last"`) }, clitest.Patience, clitest.Tick)
	end()
	require.Zero(t, <-ended, c.Stderr.String())
	require.NotContains(t, c.Stdout.String(), `"evt_1"`)
	require.Equal(t, 1, strings.Count(c.Stdout.String(), `"evt_last"`))
}

// An export that continues from a cursor repeats no event and omits none. With --payload, each line
// contains the event's body.
func TestExportGoesOnFromItsLastLine(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	sendAll(t, s, "evt_1", "evt_2", "evt_3")
	s.Settle(t)
	type line struct {
		inbox.Event
		Cursor  string
		Payload struct{ ID string }
	}
	read := func(text string) (lines []line) {
		for each := bufio.NewScanner(strings.NewReader(text)); each.Scan(); {
			var l line
			require.NoError(t, json.Unmarshal(each.Bytes(), &l))
			lines = append(lines, l)
		}
		return lines
	}
	first := read(clitest.Must(t, s.Args("events", "export", "--payload", "--limit", "2")...))
	require.Len(t, first, 2)
	require.EqualValues(t, "evt_1", first[0].EventID)
	require.Equal(t, "evt_1", first[0].Payload.ID)
	rest := read(clitest.Must(t, s.Args("events", "export", "--cursor", first[1].Cursor)...))
	require.Len(t, rest, 1)
	require.EqualValues(t, "evt_3", rest[0].EventID)
	require.Empty(t, rest[0].Payload.ID)
	require.Empty(t, clitest.Must(t, s.Args("events", "export", "--cursor", rest[0].Cursor)...))
}

// The command import keys reads and checks keys of another system. With --yes, it imports them.
func TestImportedKeysAreKnown(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	file := filepath.Join(t.TempDir(), "known.csv")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	// Retention deletes imported keys of events that are older than the dedup window.
	received := time.Now().AddDate(0, 0, -7).UTC().Truncate(time.Second)
	at := received.Format(time.RFC3339)
	write(fmt.Sprintf("event_id,received_at\nevt_1,%s\n\"evt_2\",%d\n", at, received.Unix()))
	require.Equal(t, "2 keys of stripe\nimport them with the same command and --yes\n", clitest.Must(t, s.Args("import", "keys", "stripe", file)...))
	require.Zero(t, s.Count(t, `SELECT count(*) FROM hooklatch.processed_events`))
	require.Equal(t, "2 keys imported, 0 were already stored\n", clitest.Must(t, s.Args("import", "keys", "stripe", file, "--yes", "--as", "ann", "--reason", "we migrate")...))
	require.Equal(t, "0 keys imported, 2 were already stored\n", clitest.Must(t, s.Args("import", "keys", "stripe", file, "--yes")...))
	write("event_id,received_at\nevt_1," + at + "\nevt_8," + at + "\n")
	require.Equal(t, "1 key imported, 1 was already stored\n", clitest.Must(t, s.Args("import", "keys", "stripe", file, "--yes")...))

	_, sent := s.SendJSON(t, "stripe", "--id", "evt_1")
	require.Equal(t, 1, sent.Duplicates)
	for id, text := range map[string]string{ // spreadsheets begin a file with a byte order mark
		"evt_marked": "\ufeffevt_marked," + at + "\n",
		"evt_quoted": "\ufeff\"evt_quoted\"," + at + "\n",
		"evt_headed": "\ufeff\"event_id\",\"received_at\"\nevt_headed," + at + "\n",
	} {
		write(text)
		require.Equal(t, "1 key imported, 0 were already stored\n", clitest.Must(t, s.Args("import", "keys", "stripe", file, "--yes")...), id)
		_, sent := s.SendJSON(t, "stripe", "--id", id)
		require.Equal(t, 1, sent.Duplicates, id)
	}
	require.Contains(t, clitest.Must(t, s.Args("events", "list", "--state", "imported")...), "evt_2")
	text := clitest.Must(t, s.Args("events", "show", "stripe", "evt_1")...)
	require.Contains(t, text, "another system accepted the event, and its key was imported")
	require.Contains(t, text, received.Format("2006-01-02 15:04:05.000Z")+"  received by another system")
	require.Contains(t, clitest.Must(t, s.Args("audit")...), "we migrate")
	var c clitest.Command
	c.Run(t.Context(), s.Args("check")...)
	require.Regexp(t, `ok +events_without_delivery +every event has its delivery`, c.Stdout.String())

	for text, wrong := range map[string]string{
		"evt_1\n":           "wrong number of fields",
		"evt_1,yesterday\n": `line 1: received_at "yesterday" is not a time`,
		"evt_1,2026-11-01T08:00:00Z\n,2026-11-01\n": "line 2: event id is empty",
		"evt_1,2126-11-01\n":                        `received_at "2126-11-01" is in the future`,
	} {
		write(text)
		c = clitest.Command{}
		require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("import", "keys", "stripe", file, "--yes")...), text)
		require.Contains(t, c.Stderr.String(), wrong)
	}
	c = clitest.Command{}
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("import", "keys", "strip", file, "--yes")...), "no such source is configured")
	require.Contains(t, c.Stderr.String(), `has no source "strip"; its sources are `)
}

// One output contains the full lifecycle of an event, as text and as JSON.
func TestShowTellsTheWholeLife(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	sendAll(t, s, "evt_1")
	clitest.Must(t, s.Args("send", "stripe", "--id", "evt_1")...)
	clitest.Must(t, s.Args("events", "replay", "stripe/evt_1", "--as", "bob", "--reason", "once more", "--new-keys")...)
	s.WaitDone(t, "stripe", "evt_1")
	text := clitest.Must(t, s.Args("events", "show", "stripe/evt_1")...)
	require.Contains(t, text, "\nroutes\n")
	require.Contains(t, text, "everything -> app  matches\n")
	require.Contains(t, text, "\noperator actions\n")
	require.Contains(t, text, "event.replay of stripe/evt_1 by bob, cli: once more\n")
	require.Regexp(t, `delivery      [0-9a-f-]{36}\n`, text)

	var shown struct {
		Effects []struct {
			Destination string
			Attempts    []struct{ Applied string }
			Transitions []struct{ To string }
		}
		Replays []inbox.EventReplay
		Actions []struct{ Who, Action string }
		Routes  []struct {
			Route string
			Wants bool
			Why   string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, s.Args("events", "show", "stripe/evt_1", "--json")...)), &shown))
	require.Len(t, shown.Replays, 1)
	require.Equal(t, "bob", shown.Replays[0].By)
	require.Len(t, shown.Actions, 1)
	require.NotEmpty(t, shown.Effects)
	for _, e := range shown.Effects {
		require.NotEmpty(t, e.Attempts, e.Destination)
		require.NotEmpty(t, e.Transitions, e.Destination)
	}
	require.Equal(t, []string{"everything", "receipts"}, []string{shown.Routes[0].Route, shown.Routes[1].Route})
	require.True(t, shown.Routes[1].Wants)

	clitest.Must(t, s.Args("send", "github", "--id", "g_1")...)
	require.Contains(t, clitest.Must(t, s.Args("events", "show", "github", "g_1")...), "receipts -> mail  does not match: its sources are stripe, not github\n")
}
