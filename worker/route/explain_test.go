package route

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// Explain never reports that a route matches an event that the route does not receive.
func TestARouteIsNotSaidToWantWhatItNeverGets(t *testing.T) {
	t.Parallel()
	table := compiled(t, Options{Routes: []Route{{Name: "everything", From: []string{"*"}, To: "app"}}, LeftToHandlers: []string{"shop"}})
	for name, c := range map[string]struct {
		source identity.Source
		erased time.Time
		want   Explanation
	}{
		"usual":    {source: "stripe", want: Explanation{Route: "everything", Destination: "app", Wants: true}},
		"handlers": {source: "shop", want: Explanation{Route: "everything", Destination: "app", Why: "Go handlers process the events of shop: this source has handlers: true"}},
		"erased": {
			source: "stripe", erased: time.Now(),
			want: Explanation{Route: "everything", Destination: "app", Why: "the event is erased, and is never dispatched again"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &inbox.Event{EventRef: identity.EventRef{Source: c.source, EventID: "evt_1"}, Type: "order.paid", Body: []byte("{}"), ErasedAt: c.erased}
			require.Equal(t, []Explanation{c.want}, table.Explain(t.Context(), e))
		})
	}
}
