package outbox

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// A search, a trial of routes and an export hold one large body at a time. The events of a delivery
// share its body, which is loaded for each of them.
//
//nolint:paralleltest // it measures the heap
func TestOneLargeBodyIsHeldAtATime(t *testing.T) {
	b := setup(t)
	const events, size = 40, 4 << 20
	d := delivery("stripe")
	d.Body = append(append([]byte(`{"x":"`), bytes.Repeat([]byte("x"), size)...), `"}`...)
	var refs []identity.EventRef
	for i := range events {
		ref := identity.EventRef{Source: "stripe", EventID: identity.EventID(fmt.Sprint("evt_", i))}
		refs, d.Events = append(refs, ref), append(d.Events, Incoming{ID: ref.EventID, Type: "invoice.paid"})
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
	before := held()
	whole, err := b.Inbox.EventsWhole(t.Context(), refs)
	require.NoError(t, err)
	for _, ref := range refs {
		e, err := whole.Get(t.Context(), ref)
		require.NoError(t, err)
		require.Greater(t, len(e.Body), size)
		e.Body = nil
		now := held()
		require.Less(t, now-min(now, before), uint64(8*size), ref)
	}
	runtime.KeepAlive(whole)
}
