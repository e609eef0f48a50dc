package erasure_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

func TestManyAreErasedByWhatIsInThem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 6 {
		b.done(t, fmt.Sprintf("evt_%d", i), fmt.Sprintf(`{"customer":%d}`, i%2))
	}
	b.accept(t, `{"customer":1}`, map[string]string{"waits": ""})
	b.done(t, "gone", `{"customer":1}`)
	b.exec(t, `DELETE FROM hooklatch.deliveries WHERE delivery_id = (SELECT delivery_id FROM hooklatch.processed_events WHERE event_id = 'gone')`)
	eraser := b.Erasure().With(b.Finder().With(func(context.Context, string) (find.Match, error) {
		return find.Match{By: func(e *inbox.Event) (bool, error) {
			if string(e.EventID) == "evt_4" {
				return false, errors.New("no such field")
			}
			return string(e.Payload()) == `{"customer":1}`, nil
		}}, nil
	}))
	s := find.Events{Source: "shop", Content: find.Content{When: "it is of the customer"}}
	found, err := eraser.Preview(t.Context(), s, nil)
	require.NoError(t, err)
	require.EqualValues(t, 4, found.Selected)
	require.EqualValues(t, 1, found.Bodiless)
	require.EqualValues(t, 1, found.Unclear)
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.operator_log`))

	var list []string
	done, err := eraser.Many(t.Context(), s, ann, erasure.Order{Filter: map[string]string{"when": "x"}}, func(ref identity.EventRef, _ erasure.Erased) {
		list = append(list, string(ref.EventID))
	}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"evt_1", "evt_3", "evt_5"}, list)
	require.EqualValues(t, 3, done.Erased)
	require.EqualValues(t, 1, done.Unfinished)
	require.ErrorContains(t, done.WhyUnfinished, "the event is received")
	require.Equal(t, 1, b.count(t, `SELECT count(DISTINCT request_id) FROM hooklatch.operator_log WHERE filter = '{"when":"x"}'`))
	done, err = eraser.Many(t.Context(), s, ann, erasure.Order{Cancel: true}, nil, nil)
	require.NoError(t, err)
	require.EqualValues(t, 1, done.Erased)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = eraser.Many(ctx, find.Events{Source: "shop"}, ann, erasure.Order{}, nil, nil)
	require.ErrorIs(t, err, context.Canceled)
}
