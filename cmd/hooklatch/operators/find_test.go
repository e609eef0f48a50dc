package operators

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
)

// The command prints the objects that a text names, then the events whose payload contains the
// text, and the command that lists these events.
func TestFindPrintsHitsThenPayloads(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	sendAll(t, s, "evt_1", "evt_2")
	var c clitest.Command
	require.Zero(t, c.Run(t.Context(), s.Args("find", "evt_1")...), c.Stderr.String())
	lines := strings.Split(strings.TrimSpace(c.Stdout.String()), "\n")
	require.Len(t, lines, 2, c.Stdout.String())
	require.True(t, strings.HasPrefix(lines[0], "event id  stripe/evt_1  dispatched  "), lines[0])
	require.True(t, strings.HasPrefix(lines[1], "payload  stripe/evt_1  dispatched  "), lines[1])
	require.Contains(t, c.Stderr.String(), s.Printed("1 event whose payload contains the text; the same search as a list:\n  hooklatch events list --contains evt_1\n"))

	require.Equal(t, 1, strings.Count(clitest.Must(t, s.Args("find", "--exact", "stripe/evt_2")...), "\n"))
	require.Equal(t, "source  stripe\n", clitest.Must(t, s.Args("find", "--exact", "stripe")...))
	require.Equal(t, "nothing has this id, key or name\n", clitest.Must(t, s.Args("find", "--exact", "none of it")...))
	require.Empty(t, clitest.Must(t, s.Args("find", "none of it")...))
	require.Empty(t, clitest.Must(t, s.Args("find", "--source", "github", "evt_1")...))

	var hit struct{ By, Of, Name, State string }
	first, _, _ := strings.Cut(clitest.Must(t, s.Args("find", "--json", "evt_2")...), "\n")
	require.NoError(t, json.Unmarshal([]byte(first), &hit))
	require.Equal(t, struct{ By, Of, Name, State string }{"event id", "events", "stripe/evt_2", "dispatched"}, hit)
}

// A search that ends before the oldest event prints the command that continues it, even when it is
// interrupted.
func TestFindContinuesWhereItEnded(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	sendAll(t, s, "evt_1", "evt_2")
	var c clitest.Command
	require.Zero(t, c.Run(t.Context(), s.Args("find", "--limit", "1", "invoice")...), c.Stderr.String())
	require.Contains(t, c.Stdout.String(), "evt_2")
	next := goesOn.FindStringSubmatch(c.Stderr.String())
	require.NotNil(t, next, c.Stderr.String())
	require.Contains(t, next[1], "find --")
	require.True(t, strings.HasSuffix(next[1], " invoice"), next[1])
	words := strings.Fields(next[1])
	cursor := words[len(words)-2]
	require.Contains(t, clitest.Must(t, s.Args("find", "--cursor", cursor, "invoice")...), "evt_1")

	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	c = clitest.Command{}
	require.Equal(t, cli.ExitFailed, c.Run(ctx, s.Args("find", "invoice")...))
	require.Contains(t, c.Stderr.String(), "interrupted")
}

func TestFindRefusesTextsThatNothingHas(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	for want, args := range map[string][]string{
		"the text is empty":                   {"find", " "},
		"more than 4096 bytes":                {"find", strings.Repeat("x", 10_000)},
		"not UTF-8":                           {"find", "a\xff"},
		"usage:":                              {"find"},
		"allowed are 1 to 10000":              {"find", "--limit", "0", "x"},
		"omit --cursor":                       {"find", "--exact", "--cursor", "1", "x"},
		`"nowhere" is not a cursor of a list`: {"find", "--cursor", "nowhere", "x"},
	} {
		var c clitest.Command
		require.Equal(t, cli.ExitMisused, c.Run(t.Context(), s.Args(args...)...), args)
		require.Contains(t, c.Stderr.String(), want)
	}
}

// A source with `search` stores values when its events are dispatched, and the command finds events
// by them.
func TestFindUsesIndexedValues(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{YAML: func(d *cli.DevSettings) string {
		text, err := d.YAML()
		require.NoError(t, err)
		return strings.Replace(text, "    provider: stripe\n", "    provider: stripe\n    search: [/type, /data/object/id, /none]\n", 1)
	}})
	sendAll(t, s, "evt_1", "evt_2")
	got := clitest.Must(t, s.Args("find", "--exact", "INVOICE.PAID")...)
	require.Contains(t, got, "indexed value  stripe/evt_1")
	require.Contains(t, got, "indexed value  stripe/evt_2")
	require.Equal(t, "nothing has this id, key or name\n", clitest.Must(t, s.Args("find", "--exact", "--source", "github", "invoice.paid")...))
	require.Equal(t, "nothing has this id, key or name\n", clitest.Must(t, s.Args("find", "--exact", "invoice.%")...))
}
