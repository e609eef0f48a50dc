package outbox

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// A search holds one large body at a time. The events of a delivery share its body, which is loaded for
// each of them.
func TestASearchHoldsOneLargeBody(t *testing.T) {
	b := setup(t)
	const events, size = 40, 4 << 20
	d := delivery("stripe")
	d.Body = append(append([]byte(`{"x":"`), bytes.Repeat([]byte("x"), size)...), `"}`...)
	for i := range events {
		d.Events = append(d.Events, Incoming{ID: identity.EventID(fmt.Sprint("evt_", i)), Type: "invoice.paid"})
	}
	_, err := b.Accept(t.Context(), d)
	require.NoError(t, err)
	d.Body = nil

	held := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, judged, most := held(), 0, uint64(0)
	finder := b.Finder().With(func(context.Context, string) (find.Match, error) {
		return find.Match{By: func(e *inbox.Event) (bool, error) {
			judged++
			most = max(most, held())
			return len(e.Body) > size, nil
		}}, nil
	})
	page, err := finder.Events(t.Context(), find.Events{Content: find.Content{When: "true"}}, "", events)
	require.NoError(t, err)
	require.NotEmpty(t, page.Rows)
	require.GreaterOrEqual(t, judged, 1)
	require.Less(t, most-min(most, before), uint64(8*size), "%d bodies of %d bytes", judged, size)
}
