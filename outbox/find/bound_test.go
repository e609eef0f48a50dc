package find_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// answer is a page of events, effects or actions, without its rows.
type answer struct {
	found, looked int
	next          find.Cursor
	more          bool
	back          time.Time
	cursors       []find.Cursor
}

func answerOf[Row any](p find.Page[Row]) answer {
	return answer{found: len(p.Rows), looked: p.Looked, next: p.Next, more: p.More, back: p.Back, cursors: p.Cursors}
}

// question is a list whose pages must be bounded, although no index serves its filter.
type question struct {
	ask  func(ctx context.Context, from find.Cursor, limit int) (answer, error)
	of   int // matching rows; -1: all
	body bool
	each int // maximum number of table pages read for each row; 0: 1
}

func (b *bundle) questions() map[string]question {
	events := func(f find.Events) func(context.Context, find.Cursor, int) (answer, error) {
		return func(ctx context.Context, from find.Cursor, limit int) (answer, error) {
			p, err := b.Events(ctx, f, from, limit)
			return answerOf(p), err
		}
	}
	effects := func(f find.Effects) func(context.Context, find.Cursor, int) (answer, error) {
		return func(ctx context.Context, from find.Cursor, limit int) (answer, error) {
			p, err := b.Effects(ctx, f, from, limit)
			return answerOf(p), err
		}
	}
	actions := func(f find.Actions) func(context.Context, find.Cursor, int) (answer, error) {
		return func(ctx context.Context, from find.Cursor, limit int) (answer, error) {
			p, err := b.Actions(ctx, f, from, limit)
			return answerOf(p), err
		}
	}
	holds := func(text string) find.Match {
		return find.Match{Text: text, By: func(e *inbox.Event) (bool, error) { return containsText(e.Body, text), nil }}
	}
	return map[string]question{
		"all events":                 {ask: events(find.Events{}), of: -1},
		"events of a rare type":      {ask: events(find.Events{Type: "rare"}), of: rare},
		"events in a rare state":     {ask: events(find.Events{State: inbox.Failed}), of: rare},
		"events with parked effects": {ask: events(find.Events{Effects: []find.EffectsIn{"parked"}}), of: rare, each: ofEffects}, // each row's link and effect are read through indexes
		"events without effects":     {ask: events(find.Events{Effects: []find.EffectsIn{find.NoEffects}}), each: ofEffects},
		"events that are not there":  {ask: events(find.Events{Source: "stripe", Type: "none"})},
		"events that hold a text":    {ask: events(find.Events{Content: b.match(holds("cus_rare"))}), of: rare, body: true},
		"events that match rarely":   {ask: events(find.Events{Content: b.match(find.Match{By: holds("cus_rare").By})}), of: rare, body: true},
		"events that never match":    {ask: events(find.Events{Content: b.match(holds("cus_none"))}), body: true},
		"all effects":                {ask: effects(find.Effects{}), of: -1},
		"effects of a rare type":     {ask: effects(find.Effects{Type: "rare"}), of: rare},
		"effects in a rare state":    {ask: effects(find.Effects{States: []ledger.EffectState{ledger.EffectParked}}), of: rare},
		"effects that wait":          {ask: effects(find.Effects{States: find.NeedAttention()}), of: rare},
		"effects to a destination":   {ask: effects(find.Effects{Destination: "crm"}), of: rare},
		"effects that are not there": {ask: effects(find.Effects{Route: "none"})},
		"all actions":                {ask: actions(find.Actions{}), of: -1},
		"actions of a rare person":   {ask: actions(find.Actions{Who: "rare"}), of: rare},
		"actions that are not there": {ask: actions(find.Actions{Action: ledger.ActionCancelEffect, Target: "none"})},
		"effects that never match":   {ask: effects(find.Effects{Content: b.match(holds("cus_none"))}), body: true},
	}
}

// ofEffects is the maximum number of table pages read to find the effects of a listed event.
const ofEffects = 16

// A first page reads only as many rows as its time allows: 100 ms of server time, or 250 ms if it
// reads bodies. It reports how far it looked, and a walk from there finds all other matches.
func TestFirstAnswersAreBounded(t *testing.T) {
	t.Parallel()
	b, rows := filled(t)
	long := os.Getenv("HOOKLATCH_LONG") != ""
	for name, q := range b.questions() { //nolint:paralleltest // one after the other, so that each sees its own statements
		t.Run(name, func(t *testing.T) {
			b.costOf(t)
			first, err := q.ask(t.Context(), find.Beginning, 50)
			require.NoError(t, err)
			c := b.costOf(t)
			t.Logf("%d found, looked at %d back to %s: %d pages, %s", first.found, first.looked, first.back.Format(time.TimeOnly), c.pages, c.time)
			require.NotZero(t, first.looked)
			require.NotZero(t, first.back)
			most, each := 100*time.Millisecond, max(q.each, 1)
			if q.body {
				most, each = 250*time.Millisecond, 12 // each row and its body are read through indexes
			}
			require.LessOrEqual(t, first.looked, 200_000)
			require.LessOrEqual(t, c.pages, 600+each*first.looked+ofEffects*first.found, c.plans)
			if long {
				require.Less(t, c.time, most)
			}
			if q.of < 0 {
				require.Equal(t, 50, first.found)
				return
			}
			if q.body && long {
				return // a million bodies take minutes
			}
			found, answers := first.found, 1
			for at := first; at.more; answers++ {
				at, err = q.ask(t.Context(), at.next, 50)
				require.NoError(t, err)
				found += at.found
			}
			require.Equal(t, q.of, found)
			t.Logf("%d answers for all of %d", answers, rows)
		})
	}
}

// Page 10,000 costs as much as the first page.
func TestPageTenThousandCostsWhatTheFirstDoes(t *testing.T) {
	t.Parallel()
	b, rows := filled(t)
	const pages = 10_000
	limit := rows / 2 / pages                                                   // half of all rows are before that page
	for _, name := range []string{"all events", "all effects", "all actions"} { //nolint:paralleltest // one after the other, so that each sees its own statements
		t.Run(name, func(t *testing.T) {
			ask := b.questions()[name].ask
			before := limit * (pages - 1)
			var at answer
			for at.more = true; before > 0; {
				require.True(t, at.more)
				var err error
				at, err = ask(t.Context(), at.next, min(before, 1_000))
				require.NoError(t, err)
				before -= at.found
			}
			b.costOf(t)
			_, err := ask(t.Context(), find.Beginning, limit)
			require.NoError(t, err)
			first := b.costOf(t)
			deep, err := ask(t.Context(), at.next, limit)
			require.NoError(t, err)
			c := b.costOf(t)
			t.Logf("page 1 read %d pages of the tables in %s, page %d %d in %s", first.pages, first.time, pages, c.pages, c.time)
			require.Equal(t, limit, deep.found)
			require.LessOrEqual(t, c.pages, first.pages+30, c.plans)
			if os.Getenv("HOOKLATCH_LONG") != "" {
				require.Less(t, c.time, 100*time.Millisecond)
			}
		})
	}
}
