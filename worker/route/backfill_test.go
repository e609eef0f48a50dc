package route

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// The route, or its condition, decides whether a fetched event has an effect: a receipt from three
// days ago need not be sent.
func TestRoutesDecideAboutWhatWasFetched(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		backfill, when string
		origin         identity.Origin
		effects        int
		parked         bool
	}{
		{"", "", identity.Backfill, 1, false},
		{BackfillRun, "", identity.Backfill, 1, false},
		{BackfillSkip, "", identity.Backfill, 0, false},
		{BackfillSkip, "", identity.Webhook, 1, false},
		{BackfillPark, "", identity.Backfill, 1, true},
		{BackfillPark, "", identity.Webhook, 1, false},
		{"", `event.origin == "webhook" || event.age < duration("1h")`, identity.Backfill, 0, false},
		{"", `event.origin == "webhook" || event.age < duration("1h")`, identity.Webhook, 1, false},
	} {
		table := compiled(t, Options{Routes: []Route{{Name: "r", From: []string{"s"}, To: "app", Backfill: c.backfill, When: c.when}}})
		e := &inbox.Event{EventRef: identity.EventRef{Source: "s", EventID: "e"}, Type: "t", Origin: c.origin, ContentType: "application/json", Body: []byte(`{}`)}
		e.ReceivedAt = time.Date(2026, 11, 24, 8, 0, 0, 0, time.UTC)
		e.OccurredAt = e.ReceivedAt.AddDate(0, 0, -3)
		effects, err := table.Plan(t.Context(), e)
		require.NoError(t, err)
		require.Len(t, effects, c.effects, c)
		if c.effects > 0 {
			require.Equal(t, c.parked, effects[0].Parked != "", c)
		}
	}
}
