package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The command prints the objects that a text names, then the events whose payload contains the
// text, and the command that lists these events.
func TestFindPrintsHitsThenPayloads(t *testing.T) {
	t.Parallel()
	s := newSystem(t, systemOptions{})
	sendAll(t, s, "evt_1", "evt_2")
	var c command
	require.Zero(t, c.run(t.Context(), s.args("find", "evt_1")...), c.stderr.String())
	lines := strings.Split(strings.TrimSpace(c.stdout.String()), "\n")
	require.Len(t, lines, 2, c.stdout.String())
	require.True(t, strings.HasPrefix(lines[0], "event id  stripe/evt_1  dispatched  "), lines[0])
	require.True(t, strings.HasPrefix(lines[1], "payload  stripe/evt_1  dispatched  "), lines[1])
	require.Contains(t, c.stderr.String(), s.printed("1 event whose payload contains the text; the same search as a list:\n  hooklatch events list --contains evt_1\n"))

	require.Equal(t, 1, strings.Count(must(t, s.args("find", "--exact", "stripe/evt_2")...), "\n"))
	require.Equal(t, "source  stripe\n", must(t, s.args("find", "--exact", "stripe")...))
	require.Equal(t, "nothing has this id, key or name\n", must(t, s.args("find", "--exact", "none of it")...))
	require.Empty(t, must(t, s.args("find", "none of it")...))
	require.Empty(t, must(t, s.args("find", "--source", "github", "evt_1")...))

	var hit struct{ By, Of, Name, State string }
	first, _, _ := strings.Cut(must(t, s.args("find", "--json", "evt_2")...), "\n")
	require.NoError(t, json.Unmarshal([]byte(first), &hit))
	require.Equal(t, struct{ By, Of, Name, State string }{"event id", "events", "stripe/evt_2", "dispatched"}, hit)
}

// A search that ends before the oldest event prints the command that continues it, even when it is
// interrupted.
func TestFindContinuesWhereItEnded(t *testing.T) {
	t.Parallel()
	s := newSystem(t, systemOptions{})
	sendAll(t, s, "evt_1", "evt_2")
	var c command
	require.Zero(t, c.run(t.Context(), s.args("find", "--limit", "1", "invoice")...), c.stderr.String())
	require.Contains(t, c.stdout.String(), "evt_2")
	next := goesOn.FindStringSubmatch(c.stderr.String())
	require.NotNil(t, next, c.stderr.String())
	require.Contains(t, next[1], "find --")
	require.True(t, strings.HasSuffix(next[1], " invoice"), next[1])
	words := strings.Fields(next[1])
	cursor := words[len(words)-2]
	require.Contains(t, must(t, s.args("find", "--cursor", cursor, "invoice")...), "evt_1")

	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	c = command{}
	require.Equal(t, exitFailed, c.run(ctx, s.args("find", "invoice")...))
	require.Contains(t, c.stderr.String(), "interrupted")
}

func TestFindRefusesTextsThatNothingHas(t *testing.T) {
	t.Parallel()
	s := newSystem(t, systemOptions{})
	for want, args := range map[string][]string{
		"the text is empty":                   {"find", " "},
		"more than 4096 bytes":                {"find", strings.Repeat("x", 10_000)},
		"not UTF-8":                           {"find", "a\xff"},
		"usage:":                              {"find"},
		"allowed are 1 to 10000":              {"find", "--limit", "0", "x"},
		"omit --cursor":                       {"find", "--exact", "--cursor", "1", "x"},
		`"nowhere" is not a cursor of a list`: {"find", "--cursor", "nowhere", "x"},
	} {
		var c command
		require.Equal(t, exitMisused, c.run(t.Context(), s.args(args...)...), args)
		require.Contains(t, c.stderr.String(), want)
	}
}

// A source with `search` stores values when its events are dispatched, and the command finds events
// by them.
func TestFindUsesIndexedValues(t *testing.T) {
	t.Parallel()
	s := newSystem(t, systemOptions{yaml: func(d *devSettings) string {
		text, err := d.yaml()
		require.NoError(t, err)
		return strings.Replace(text, "    provider: stripe\n", "    provider: stripe\n    search: [/type, /data/object/id, /none]\n", 1)
	}})
	sendAll(t, s, "evt_1", "evt_2")
	got := must(t, s.args("find", "--exact", "INVOICE.PAID")...)
	require.Contains(t, got, "indexed value  stripe/evt_1")
	require.Contains(t, got, "indexed value  stripe/evt_2")
	require.Equal(t, "nothing has this id, key or name\n", must(t, s.args("find", "--exact", "--source", "github", "invoice.paid")...))
	require.Equal(t, "nothing has this id, key or name\n", must(t, s.args("find", "--exact", "invoice.%")...))
}
