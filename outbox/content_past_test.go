package outbox

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// arrived returns a delivery with a content window of a minute that arrived some time ago.
func arrived(ago time.Duration, id, body string) Delivery {
	d := content(time.Minute, id, body)
	d.ArrivedAt = time.Now().Add(-ago)
	return d
}

// An event of the past leaves the window of a later event as it is, so that copies of the later event
// stay duplicates.
func TestAnEventOfThePastMovesNoLaterWindow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var opened []time.Time
	until := func() (at time.Time) {
		require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT max(expires_at) FROM hooklatch.content_guards`).Scan(&at))
		return at
	}
	require.Equal(t, []AcceptStatus{Accepted}, b.statuses(t, content(time.Minute, "live", "one")))
	opened = append(opened, until())
	require.Equal(t, []AcceptStatus{Accepted}, b.statuses(t, arrived(time.Hour, "past", "one")))
	opened = append(opened, until())
	events, err := b.together(arrived(10*time.Second, "recent", "one"))
	require.NoError(t, err)
	require.EqualValues(t, "live", events[0].SameAs, "the window after the arrival counts too")
	opened = append(opened, until())
	events, err = b.together(content(time.Minute, "copy", "one"))
	require.NoError(t, err)
	require.EqualValues(t, "live", events[0].SameAs)
	events, err = b.together(arrived(time.Hour+10*time.Second, "past copy", "one"))
	require.NoError(t, err)
	require.EqualValues(t, "past", events[0].SameAs)
	require.Equal(t, 1, b.number(t, `SELECT count(*) FROM hooklatch.processed_events WHERE event_id = 'past' AND received_at = $1`, events[0].FirstReceivedAt))
	require.Equal(t, []time.Time{opened[0], opened[0], opened[0]}, opened)
}

// The window of a delivery that arrived seconds ago is still open. Its length counts from the
// arrival. An arrival time in the future counts as now.
func TestTheWindowOfARecentArrivalCountsForLiveEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Equal(t, []AcceptStatus{Accepted}, b.statuses(t, arrived(10*time.Second, "recent", "one")))
	require.Equal(t, []AcceptStatus{Duplicate}, b.statuses(t, content(time.Minute, "live", "one")))
	require.Equal(t, []AcceptStatus{Accepted}, b.statuses(t, arrived(-time.Hour, "ahead", "two")))
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.content_guards WHERE expires_at > clock_timestamp() + interval '1 minute'`))
}

// Deliveries that arrived far apart share no batch: events of one batch with equal contents are
// duplicates.
func TestDeliveriesOfThePastAreCommittedAlone(t *testing.T) {
	t.Parallel()
	b := setup(t, func(opts *Options) { opts.Committers = 1; opts.AcceptTimeout = 2 * time.Minute })
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			d := arrived(time.Duration(i)*time.Hour, fmt.Sprint("id ", i), "one")
			if i == 0 {
				d.ArrivedAt = time.Time{}
			}
			a, err := b.Accept(context.Background(), d)
			if err != nil || a.New() != 1 {
				t.Errorf("accept %d: %+v, %v", i, a, err)
			}
		})
	}
	all.Wait()
}
