package outbox

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// found searches for a value and returns the events' ids in the order of the results.
func (b *bundle) found(t *testing.T, text string, limit int, sources ...identity.Source) []string {
	t.Helper()
	events, err := b.Finder().EventsOfValue(t.Context(), text, sources, limit)
	require.NoError(t, err)
	ids := []string{}
	for _, e := range events {
		ids = append(ids, e.String())
	}
	return ids
}

// A dispatch stores each search value once. A search for the value finds the event.
func TestADispatchStoresSearchValues(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, other := b.accepted(t, "stripe", "evt_1"), b.accepted(t, "shop", "evt_1")
	for _, e := range []*inbox.Event{one, other} {
		for range 2 { // the second dispatch does not pass the fence
			_, err := b.Dispatch(t.Context(), Dispatch{Event: e, SearchValues: []string{"jane@example.com", "cus_%", "ünï"}})
			require.NoError(t, err)
		}
	}
	require.Equal(t, 6, b.count(t, `SELECT count(*) FROM hooklatch.search_values`))
	require.Equal(t, []string{"shop/evt_1", "stripe/evt_1"}, b.found(t, " Jane@Example.COM ", 10, "shop", "stripe", "none"))
	require.Equal(t, []string{"shop/evt_1"}, b.found(t, "jane@example.com", 1, "shop", "stripe"))
	require.Equal(t, []string{"stripe/evt_1"}, b.found(t, "ÜNÏ", 10, "stripe"))
	for _, none := range []string{"jane", "%", "cus_42", "cus__", "", " ", "\x00", "a\xffb", strings.Repeat("x", 300), strings.Repeat("x", 10_000)} {
		require.Empty(t, b.found(t, none, 10, "shop", "stripe"), none)
	}
	require.Empty(t, b.found(t, "jane@example.com", 10))

	// A replay keeps the stored values and adds new ones.
	_, err := b.Replay(t.Context(), one.EventRef, ann, inbox.ReplayOptions{})
	require.NoError(t, err)
	again, err := b.Event(t.Context(), one.EventRef)
	require.NoError(t, err)
	_, err = b.Dispatch(t.Context(), Dispatch{Event: again, SearchValues: []string{"jane@example.com", "new"}})
	require.NoError(t, err)
	require.Equal(t, 7, b.count(t, `SELECT count(*) FROM hooklatch.search_values`))
}

// Handlers and values share a transaction: both are rolled back together.
func TestADispatchWithHandlersStoresSearchValues(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.accepted(t, "stripe", "evt_1")
	plan := Dispatch{Event: e, SearchValues: []string{"jane"}, Effects: []ledger.NewEffect{planned(e, "k")}}
	dispatch := func(fail error) error {
		return pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
			_, err := b.DispatchTx(t.Context(), tx, plan, func(context.Context, pgx.Tx) error { return fail })
			return err
		})
	}
	require.Error(t, dispatch(context.DeadlineExceeded))
	require.Empty(t, b.found(t, "jane", 10, "stripe"))
	require.NoError(t, dispatch(nil))
	require.Equal(t, []string{"stripe/evt_1"}, b.found(t, "jane", 10, "stripe"))
}

func TestADispatchRefusesSearchValuesThatCannotBeFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.accepted(t, "stripe", "evt_1")
	many := make([]string, 17)
	for i := range many {
		many[i] = strconv.Itoa(i)
	}
	for _, values := range [][]string{many, {strings.Repeat("x", 257)}, {"Jane"}, {"a\x00"}, {" jane"}} {
		_, err := b.Dispatch(t.Context(), Dispatch{Event: e, SearchValues: values})
		require.ErrorContains(t, err, "search value")
	}
}

// A dispatch without values executes no additional statement.
func TestADispatchWithoutSearchValuesCostsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.pool.Exec(t.Context(), `DROP TABLE hooklatch.search_values`)
	require.NoError(t, err)
	e := b.accepted(t, "stripe", "evt_1")
	d, err := b.Dispatch(t.Context(), Dispatch{Event: e})
	require.NoError(t, err)
	require.True(t, d.Fenced)
}
