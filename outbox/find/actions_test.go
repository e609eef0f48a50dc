package find_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// All pages of actions together contain every action, including actions with equal times, even if
// actions are added meanwhile.
func TestActionsAreFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.pool.Exec(t.Context(), `INSERT INTO hooklatch.operator_log (at, who, via, action, target, affected, request_id)
		SELECT timestamptz '2026-11-21 08:00Z' + (i / 7) * interval '1 minute', CASE i % 3 WHEN 0 THEN 'ann' ELSE 'bob' END, 'cli',
			CASE i % 5 WHEN 0 THEN 'effect.park' ELSE 'effect.retry' END, 'hl_' || i, 1, i::text
		FROM generate_series(0, 99) AS i`)
	require.NoError(t, err)
	all := func(f find.Actions, limit int) (targets []string) {
		for at, more := find.Beginning, true; more; {
			page, err := b.Actions(t.Context(), f, at, limit)
			require.NoError(t, err)
			for _, a := range page.Rows {
				targets = append(targets, a.Target)
			}
			if len(targets) == 7 {
				_, err := b.pool.Exec(t.Context(), `INSERT INTO hooklatch.operator_log (who, via, action, target, affected, request_id) VALUES ('eve', 'cli', 'effect.park', 'new', 1, 'x')`)
				require.NoError(t, err)
			}
			at, more = page.Next, page.More
		}
		return targets
	}
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprintf("hl_%d", 99-i))
	}
	require.Equal(t, want, all(find.Actions{}, 7))
	at := func(minute int) time.Time { return time.Date(2026, 11, 21, 8, minute, 0, 0, time.UTC) }
	for _, c := range []struct {
		filter find.Actions
		want   []string
	}{
		{find.Actions{Target: "hl_42"}, []string{"hl_42"}},
		{find.Actions{Who: "ann", Action: ledger.ActionParkEffect, Span: find.Span{Until: at(9)}}, []string{"hl_60", "hl_45", "hl_30", "hl_15", "hl_0"}},
		{find.Actions{Who: "ann", Span: find.Span{Since: at(1), Until: at(2)}}, []string{"hl_12", "hl_9"}},
		{find.Actions{Who: "nobody"}, nil},
	} {
		require.Equal(t, c.want, all(c.filter, 2))
	}
	page, err := b.Actions(t.Context(), find.Actions{Target: "hl_7"}, find.Beginning, 0)
	require.NoError(t, err)
	known, err := b.box.Ledger().OperatorLog(t.Context(), at(1), 1, "hl_7")
	require.NoError(t, err)
	require.Equal(t, known, page.Rows, "the list and the operator log return the same action")
	for _, cursor := range []find.Cursor{"7", "x.1", "1.x", "."} {
		_, err := b.Actions(t.Context(), find.Actions{}, cursor, 0)
		require.ErrorIs(t, err, find.ErrCursor)
	}
}
