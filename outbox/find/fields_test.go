package find_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// asked returns a text that a field accepts.
func asked(f find.Field) string {
	switch {
	case f.Words != nil:
		return f.Words[0]
	case f.Name == "since":
		return "2026-11-20T00:00:00Z"
	case f.Name == "until":
		return "2026-11-21T00:00:00Z"
	case f.Name == "event":
		return "stripe/evt_1"
	}
	return "it's, one"
}

// Each field of a filter can be parsed from a user's text, and changes the selection. It can also
// be written again: as text, and as the JSON that a run stores.
func TestEachFieldOfAFilterIsReadAndTold(t *testing.T) {
	t.Parallel()
	eachField[find.Events](t)
	eachField[find.Effects](t)
	eachField[find.Actions](t)
}

func eachField[Filter interface{ IsZero() bool }](t *testing.T) {
	t.Helper()
	var all, none Filter
	require.True(t, none.IsZero())
	require.Empty(t, find.Given(none))
	fields := find.Fields[Filter]()
	for _, f := range fields {
		var one Filter
		require.NoError(t, find.Set(&one, f.Name, asked(f), time.Now()), f.Name)
		require.NoError(t, find.Set(&all, f.Name, asked(f), time.Now()), f.Name)
		require.False(t, one.IsZero(), "%s selects, and nothing is looked for", f.Name)
		given := find.Given(one)
		require.Len(t, given, 1, f.Name)
		require.Equal(t, f.Name, given[0].Name)
		require.Equal(t, asked(f), given[0].Text)
		require.NotEmpty(t, f.Label, f.Name)
		require.NotEmpty(t, f.Help, f.Name)
		require.Error(t, find.Set(&one, f.Name, "\xff", time.Now()), f.Name)
	}
	require.Len(t, find.Given(all), len(fields))
	text, err := json.Marshal(all)
	require.NoError(t, err)
	var read Filter
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, all, read)
	require.Equal(t, all, find.Storable(all))
}

func TestAFilterSaysWhatItDoesNotTake(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var events find.Events
	var effects find.Effects
	for _, c := range []struct {
		err  error
		says string
	}{
		{find.Set(&events, "state", "lost", now), `state "lost": allowed are received, dispatched`},
		{find.Set(&events, "has", "duplicates,nothing", now), `has "nothing": allowed are duplicates, differs`},
		{find.Set(&events, "since", "yesterday", now), `since "yesterday": allowed are a time such as`},
		{find.Set(&events, "until", "-0h", now), `until "-0h": allowed are a time such as`},
		{find.Set(&effects, "event", "evt_1", now), `event "evt_1": it must be SOURCE/EVENT_ID`},
		{find.Set(&effects, "tipe", "x", now), `tipe "x": no such field exists`},
	} {
		require.ErrorContains(t, c.err, c.says)
	}
	require.NoError(t, find.Set(&effects, "state", "done,attention", now))
	require.Equal(t, append([]ledger.EffectState{ledger.EffectDone}, find.NeedAttention()...), effects.States)
	require.NoError(t, find.Set(&effects, "since", "36h", now))
	require.Equal(t, now.Add(-36*time.Hour), effects.Since)
	require.ErrorIs(t, find.Span{Since: now, Until: now}.Validate(), find.ErrSpan)
}

func FuzzSet(f *testing.F) {
	f.Add("since", "36h")
	f.Add("state", "failed,attention")
	f.Add("event", "stripe/evt_1")
	f.Add("when", "body.a == \"\x00\"")
	f.Fuzz(func(t *testing.T, name, value string) {
		var asked find.Effects
		if find.Set(&asked, name, value, time.Now()) != nil {
			return
		}
		again := find.Effects{}
		for _, g := range find.Given(asked) {
			require.NoError(t, find.Set(&again, g.Name, g.Text, time.Now()))
		}
		require.Equal(t, find.Given(asked), find.Given(again))
	})
}
