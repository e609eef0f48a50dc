package find_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func containsText(body []byte, text string) bool { return bytes.Contains(body, []byte(text)) }

// whole returns all pages of a list as one page. On a busy machine, the list has more pages.
func whole[Row any](t *testing.T, answer func(from find.Cursor) (find.Page[Row], error)) find.Page[Row] {
	t.Helper()
	var all find.Page[Row]
	for from, more := find.Beginning, true; more; {
		page, err := answer(from)
		require.NoError(t, err)
		all.Rows = append(all.Rows, page.Rows...)
		all.Unclear += page.Unclear
		all.WhyUnclear = errors.Join(all.WhyUnclear, page.WhyUnclear)
		all.Bodiless += page.Bodiless
		from, more = page.Next, page.More
	}
	return all
}

// All pages together contain the whole list, even if events are accepted in between.
func TestPagesAreTheWholeList(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var want []string
	for i := range 25 {
		id := fmt.Sprintf("evt_%d", i)
		b.dispatch(t, b.accept(t, "stripe", id, `{}`))
		want = append([]string{id}, want...)
	}
	var events, effects []string
	var places int
	for at, more := find.Beginning, true; more; {
		page, err := b.Events(t.Context(), find.Events{}, at, 4)
		require.NoError(t, err)
		require.Len(t, page.Cursors, len(page.Rows))
		events, places = append(events, ids(page.Rows)...), places+1
		at, more = page.Next, page.More
		b.accept(t, "stripe", fmt.Sprintf("later_%d", places), `{}`)
	}
	require.Equal(t, want, events)
	require.Equal(t, 7, places)
	for at, more := find.Beginning, true; more; {
		page, err := b.Effects(t.Context(), find.Effects{}, at, 4)
		require.NoError(t, err)
		for _, e := range page.Rows {
			effects = append(effects, string(e.Event.EventID))
		}
		at, more = page.Next, page.More
	}
	require.Equal(t, want, effects)

	page, err := b.Events(t.Context(), find.Events{Source: "stripe"}, find.Beginning, 10)
	require.NoError(t, err)
	again, err := b.Events(t.Context(), find.Events{Source: "stripe"}, page.Cursors[3], 6)
	require.NoError(t, err)
	require.Equal(t, ids(page.Rows[4:]), ids(again.Rows), "each row has its cursor")
}

func TestFiltersSelectEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.dispatch(t, b.accept(t, "stripe", "evt_1", `{"customer":"cus_1"}`))
	b.accept(t, "github", "evt_1", `{"customer":"cus_2"}`)
	b.accept(t, "github", "evt_2", `{"customer":"cus_1"}`)
	age := func(id, by string) {
		_, err := b.pool.Exec(t.Context(), `
			WITH aged AS (
				UPDATE hooklatch.processed_events SET received_at = received_at - $2::interval WHERE event_id = $1 AND source = 'stripe' RETURNING delivery_id, received_at
			)
			UPDATE hooklatch.deliveries AS d SET received_at = aged.received_at FROM aged WHERE d.delivery_id = aged.delivery_id`, id, by)
		require.NoError(t, err)
	}
	age("evt_1", "1 millisecond")
	customer := func(e *inbox.Event) (bool, error) { return containsText(e.Body, "cus_1"), nil }
	now := time.Now().Add(time.Hour) // ahead of every server clock
	for id, what := range map[string]string{
		"github/evt_1": "duplicates = 1, body_differs = true", "github/evt_2": "duplicates = 2, retry_number = 3", "stripe/evt_1": "replay_suspect = true",
	} {
		_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.processed_events SET `+what+` WHERE source || '/' || event_id = $1`, id)
		require.NoError(t, err)
	}
	for name, c := range map[string]struct {
		filter find.Events
		want   []string
	}{
		"source":             {find.Events{Source: "github"}, []string{"github/evt_2", "github/evt_1"}},
		"state":              {find.Events{State: inbox.Dispatched}, []string{"stripe/evt_1"}},
		"effects":            {find.Events{Effects: []find.EffectsIn{"pending", "failed"}}, []string{"stripe/evt_1"}},
		"no such effects":    {find.Events{Effects: []find.EffectsIn{"failed"}}, nil},
		"no effects":         {find.Events{Effects: []find.EffectsIn{find.NoEffects}}, []string{"github/evt_2", "github/evt_1"}},
		"id and effects":     {find.Events{ID: "evt_1", Effects: []find.EffectsIn{"pending"}}, []string{"stripe/evt_1"}},
		"type":               {find.Events{Type: "invoice.lost"}, nil},
		"pattern of types":   {find.Events{Type: "invoice.*"}, []string{"github/evt_2", "github/evt_1", "stripe/evt_1"}},
		"id and pattern":     {find.Events{ID: "evt_2", Type: "*.paid"}, []string{"github/evt_2"}},
		"no such pattern":    {find.Events{Type: "*.lost"}, nil},
		"has duplicates":     {find.Events{Has: []find.Attribute{find.Duplicates}}, []string{"github/evt_2", "github/evt_1"}},
		"body differs":       {find.Events{Has: []find.Attribute{find.Differs}}, []string{"github/evt_1"}},
		"called a retry":     {find.Events{Has: []find.Attribute{find.Retry}}, []string{"github/evt_2"}},
		"suspect":            {find.Events{Has: []find.Attribute{find.Suspect}}, []string{"stripe/evt_1"}},
		"id and duplicates":  {find.Events{ID: "evt_1", Has: []find.Attribute{find.Duplicates}}, []string{"github/evt_1"}},
		"id of any source":   {find.Events{ID: "evt_1"}, []string{"github/evt_1", "stripe/evt_1"}},
		"id of a source":     {find.Events{ID: "evt_1", Source: "stripe"}, []string{"stripe/evt_1"}},
		"id and state":       {find.Events{ID: "evt_1", State: inbox.Received}, []string{"github/evt_1"}},
		"id and match":       {find.Events{ID: "evt_1", Content: b.match(find.Match{By: customer})}, []string{"stripe/evt_1"}},
		"unknown id":         {find.Events{ID: "evt_3"}, nil},
		"since":              {find.Events{Span: find.Span{Since: now.Add(-2 * time.Hour)}}, []string{"github/evt_2", "github/evt_1", "stripe/evt_1"}},
		"since then":         {find.Events{Span: find.Span{Since: now}}, nil},
		"until":              {find.Events{Span: find.Span{Until: now}}, []string{"github/evt_2", "github/evt_1", "stripe/evt_1"}},
		"until long ago":     {find.Events{Span: find.Span{Until: now.Add(-2 * time.Hour)}}, nil},
		"match":              {find.Events{Content: b.match(find.Match{By: customer})}, []string{"github/evt_2", "stripe/evt_1"}},
		"match with a text":  {find.Events{Content: b.match(find.Match{By: customer, Text: "cus_1"})}, []string{"github/evt_2", "stripe/evt_1"}},
		"match and a source": {find.Events{Source: "stripe", Content: b.match(find.Match{By: customer, Text: "cus_1"})}, []string{"stripe/evt_1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := whole(t, func(from find.Cursor) (find.Page[*inbox.Event], error) {
				return b.Events(t.Context(), c.filter, from, 0)
			})
			var got []string
			for _, e := range page.Rows {
				got = append(got, e.EventRef.String())
				require.Nil(t, e.Body)
			}
			require.Equal(t, c.want, got)
		})
	}
}

// Events that Match cannot decide, or whose body is no longer stored, are omitted and counted.
func TestMatchSaysWhatItCouldNotDecide(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, id := range []string{"evt_1", "evt_2", "evt_3", "evt_4"} {
		b.dispatch(t, b.accept(t, "stripe", id, `{}`))
	}
	_, err := b.pool.Exec(t.Context(), `DELETE FROM hooklatch.deliveries WHERE delivery_id = (SELECT delivery_id FROM hooklatch.processed_events WHERE event_id = 'evt_2')`)
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `UPDATE hooklatch.processed_events SET erased_at = now() WHERE event_id = 'evt_4'`)
	require.NoError(t, err)
	match := find.Match{By: func(e *inbox.Event) (bool, error) {
		if e.EventID == "evt_1" {
			return false, errors.New("no such field")
		}
		return true, nil
	}}
	page := whole(t, func(from find.Cursor) (find.Page[*inbox.Event], error) {
		return b.Events(t.Context(), find.Events{Content: b.match(match)}, from, 0)
	})
	require.Equal(t, []string{"evt_3"}, ids(page.Rows))
	require.Equal(t, 1, page.Unclear)
	require.ErrorContains(t, page.WhyUnclear, "no such field")
	require.Equal(t, 2, page.Bodiless, "one body has expired, and one was erased")

	effects := whole(t, func(from find.Cursor) (find.Page[ledger.Effect], error) {
		return b.Effects(t.Context(), find.Effects{Content: b.match(match)}, from, 0)
	})
	require.Len(t, effects.Rows, 1)
	require.Equal(t, identity.EventID("evt_3"), effects.Rows[0].Event.EventID)
	require.Equal(t, 2, effects.Bodiless)
}

// A condition that uses up the time budget of a page is evaluated for one event per page. The next
// page continues with the next event.
func TestASlowConditionIsAskedOnceInAnAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const all = 4
	for i := range all {
		b.accept(t, "stripe", fmt.Sprint("evt_", i), `{}`)
	}
	asked := 0
	match := find.Match{By: func(*inbox.Event) (bool, error) {
		asked++
		for began := time.Now(); time.Since(began) < find.MatchTime(); { // the condition uses the CPU
			runtime.Gosched()
		}
		return true, nil
	}}
	var found []string
	for from, more, answers := find.Beginning, true, 0; more; answers++ {
		require.LessOrEqual(t, answers, all)
		asked = 0
		page, err := b.Events(t.Context(), find.Events{Content: b.match(match)}, from, 0)
		require.NoError(t, err)
		require.LessOrEqual(t, asked, 1)
		found = append(found, ids(page.Rows)...)
		from, more = page.Next, page.More
	}
	require.Equal(t, []string{"evt_3", "evt_2", "evt_1", "evt_0"}, found)

	ctx, cancel := context.WithCancel(t.Context())
	asked = 0
	_, err := b.Events(ctx, find.Events{Content: b.match(find.Match{By: func(*inbox.Event) (bool, error) {
		asked++
		cancel() // the caller no longer waits for the page
		return true, nil
	}})}, find.Beginning, 0)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, asked)
}

// The search looks for the bytes of a text. If a body may encode the text in another way, the
// condition decides.
func TestTextIsSearchedForHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, "stripe", "plain", `{"customer":"cus_1"}`)
	b.accept(t, "stripe", "escaped", `{"customer":"\u0063us_1"}`)
	b.accept(t, "stripe", "another", `{"customer":"cus_2"}`)
	var asked []string
	match := find.Match{Text: "cus_1", By: func(e *inbox.Event) (bool, error) {
		asked = append(asked, string(e.EventID))
		return true, nil
	}}
	page := whole(t, func(from find.Cursor) (find.Page[*inbox.Event], error) {
		return b.Events(t.Context(), find.Events{Content: b.match(match)}, from, 0)
	})
	require.Equal(t, []string{"escaped", "plain"}, ids(page.Rows))
	require.NotContains(t, asked, "another")
}

func TestFiltersSelectEffects(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.accept(t, "stripe", "evt_1", `{}`)
	b.dispatch(t, first)
	b.dispatch(t, b.accept(t, "github", "evt_2", `{}`))
	key := identity.EffectID{Scope: "route:github:all", Key: "evt_2", Generation: 1}.IdempotencyKey()
	require.NoError(t, b.box.Ledger().Park(t.Context(), key, ledger.Operator{Who: "ann", Via: "test"}))
	now := time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		filter find.Effects
		want   []string
	}{
		"state":        {find.Effects{States: []ledger.EffectState{ledger.EffectParked}}, []string{"evt_2"}},
		"attention":    {find.Effects{States: find.NeedAttention()}, []string{"evt_2"}},
		"destination":  {find.Effects{Destination: "app"}, []string{"evt_2", "evt_1"}},
		"route":        {find.Effects{Route: "some"}, nil},
		"source":       {find.Effects{Source: "stripe"}, []string{"evt_1"}},
		"type":         {find.Effects{Type: "invoice.paid", Source: "github"}, []string{"evt_2"}},
		"event":        {find.Effects{Event: first.EventRef}, []string{"evt_1"}},
		"no attention": {find.Effects{Event: first.EventRef, States: find.NeedAttention()}, nil},
		"event, state": {find.Effects{Event: first.EventRef, States: []ledger.EffectState{ledger.EffectParked}}, nil},
		"since":        {find.Effects{Span: find.Span{Since: now}}, nil},
		"until":        {find.Effects{Span: find.Span{Until: now}}, []string{"evt_2", "evt_1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := whole(t, func(from find.Cursor) (find.Page[ledger.Effect], error) {
				return b.Effects(t.Context(), c.filter, from, 0)
			})
			var got []string
			for _, e := range page.Rows {
				got = append(got, string(e.Key))
			}
			require.Equal(t, c.want, got)
		})
	}
}

// EventsOnward waits for events that may still be committed with an earlier position.
func TestOnwardTellsOnlyOfWhatIsSettled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, id := range []string{"evt_1", "evt_2", "evt_3"} {
		b.accept(t, "stripe", id, `{}`)
	}
	settle := func(names ...string) {
		_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.processed_events SET received_at = received_at - interval '2 minutes' WHERE event_id = ANY ($1)`, names)
		require.NoError(t, err)
	}
	settle("evt_1", "evt_3") // evt_2 is not settled yet, and holds back later events
	page, err := b.EventsOnward(t.Context(), find.Events{}, find.Beginning, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"evt_1"}, ids(page.Rows))
	require.False(t, page.More)
	settle("evt_2")
	page, err = b.EventsOnward(t.Context(), find.Events{}, page.Next, 1)
	require.NoError(t, err)
	require.Equal(t, []string{"evt_2"}, ids(page.Rows))
	require.True(t, page.More)
	page, err = b.EventsOnward(t.Context(), find.Events{}, page.Next, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"evt_3"}, ids(page.Rows))
}

func TestCursorsOfOtherListsAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.Events(t.Context(), find.Events{}, "1.hl_1", 0)
	require.ErrorContains(t, err, `"1.hl_1" is not a cursor of a list of events`)
	_, err = b.Effects(t.Context(), find.Effects{}, "17", 0)
	require.ErrorContains(t, err, `"17" is not a cursor of a list of effects`)
}

// A Tail returns each new row once, and no row that existed before.
func TestFollowTellsOfWhatIsNew(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.dispatch(t, b.accept(t, "stripe", "evt_1", `{}`))
	events, effects := b.FollowEvents(find.Events{Source: "stripe"}), b.FollowEffects(find.Effects{})
	told := func() (names, keys []string) {
		fresh, err := events.Next(t.Context())
		require.NoError(t, err)
		made, err := effects.Next(t.Context())
		require.NoError(t, err)
		for _, e := range made {
			keys = append(keys, string(e.Key))
		}
		return ids(fresh), keys
	}
	names, keys := told()
	require.Empty(t, names)
	require.Empty(t, keys)
	b.accept(t, "github", "evt_2", `{}`)
	b.dispatch(t, b.accept(t, "stripe", "evt_3", `{}`))
	b.accept(t, "stripe", "evt_4", `{}`)
	names, keys = told()
	require.Equal(t, []string{"evt_3", "evt_4"}, names)
	require.Equal(t, []string{"evt_3"}, keys)
	names, keys = told()
	require.Empty(t, names)
	require.Empty(t, keys)
}
