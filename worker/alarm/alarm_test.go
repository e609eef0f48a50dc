package alarm

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// Two recipients of one destination are two targets. A message that was already sent is not logged
// again.
func TestTargetsMayShareADestination(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	var logs bytes.Buffer
	var sent []string // the bodies of new effects
	order := map[identity.Key]string{}
	known := map[identity.Key]bool{}
	a, err := New(Options{
		Pool: pool, For: time.Nanosecond, Logger: slog.New(slog.NewTextHandler(&logs, nil)),
		To: []Target{
			{Destination: "mail", Request: Mail("ann@example.com")},
			{Destination: "mail", Request: Mail("ben@example.com")},
		},
		Enqueue: func(_ context.Context, _ pgx.Tx, e outbox.Enqueue) (bool, error) {
			if known[e.Key] {
				return false, nil
			}
			known[e.Key] = true
			order[e.Key] = e.OrderKey
			sent = append(sent, string(e.Request.Body))
			return true, nil
		},
	})
	require.NoError(t, err)
	firing := []Alert{{Name: "breaker_open", Subject: "crm", Severity: Page}}
	tell := func(before string) {
		t.Helper()
		_, err := pool.Exec(t.Context(), `UPDATE hooklatch.alert_states SET `+before)
		require.NoError(t, err)
		require.NoError(t, a.tell(t.Context(), firing))
	}
	tell(`target = target`)
	tell(`target = target`)
	require.Len(t, sent, 1)
	require.Contains(t, sent[0], "ann@example.com")
	tell(`told_at = told_at - interval '1 minute'`) // the first target did not receive the message
	require.Len(t, sent, 2)
	require.Contains(t, sent[1], "ben@example.com")
	require.Equal(t, 2, strings.Count(logs.String(), "alert sent"))

	tell(`told_at = told_at - interval '1 minute', target = 0`) // as if the last turn had been lost
	require.Len(t, sent, 2)
	require.Equal(t, 2, strings.Count(logs.String(), "alert sent"))

	// After an outage, the message that an alert resolved does not overtake the message that it
	// fired, on the way to the same target.
	firing = nil
	tell(`target = 1, seen_at = seen_at - interval '1 hour'`)
	require.Len(t, sent, 3)
	require.Contains(t, sent[2], "resolved: ")
	orders := map[string]int{}
	for _, key := range order {
		require.NotEmpty(t, key)
		orders[key]++
	}
	require.Len(t, orders, 2, "one for each target")
	require.ElementsMatch(t, []int{1, 2}, slices.Collect(maps.Values(orders)))
}
