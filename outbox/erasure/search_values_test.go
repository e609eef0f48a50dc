package erasure_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// An erasure and a redaction delete their event's search values, and no other event's.
func TestSearchValuesGoWithTheirEvent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const jane, joe = `{"name":"Jane Canary","email":"jane@canary.example"}`, `{"name":"Joe","email":"joe@canary.example"}`
	b.done(t, "erased", jane)
	b.done(t, "redacted", `{"name":"Jim Canary","email":"jim@canary.example"}`)
	b.accept(t, `[`+jane+`,`+joe+`]`, map[string]string{"first": "/0", "second": "/1"})
	b.dispatch(t, "first")
	values := func() int { return b.count(t, `SELECT count(*) FROM hooklatch.search_values`) }
	require.Equal(t, 6, values(), "the event second is not dispatched")

	b.redact(t, 0, "/email")
	require.Zero(t, values(), "all of these events have ended")
	b.dispatch(t, "second")
	require.Equal(t, 2, values())
	b.erase(t, "erased")
	b.erase(t, "second")
	b.erase(t, "first")
	require.Zero(t, values())
	b.exec(t, `VACUUM`)
	for _, value := range []string{"jane@canary.example", "jim@canary.example", "jane canary"} {
		require.False(t, contains(b.dump(t), value), value)
	}
}

// A dispatch that was planned before the erasure stores nothing.
func TestALateDispatchOfAnErasedEventStoresNoValues(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, `{"name":"Jane"}`, map[string]string{"evt_1": ""})
	planned := b.event(t, "evt_1")
	require.Equal(t, inbox.Received, planned.Outcome)
	_, err := b.Erasure().Event(t.Context(), ref("evt_1"), ann, erasure.Order{Cancel: true})
	require.NoError(t, err)
	d, err := b.Dispatch(t.Context(), outbox.Dispatch{Event: planned, SearchValues: []string{"jane"}})
	require.NoError(t, err)
	require.False(t, d.Fenced)
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.search_values`))
}
