package outbox

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// skipped stores events that no route wanted.
func (b *bundle) skipped(t *testing.T, source string, n int) {
	t.Helper()
	for i := range n {
		_, err := b.Dispatch(t.Context(), Dispatch{Event: b.accepted(t, source, fmt.Sprintf("evt_%03d", i))})
		require.NoError(t, err)
	}
}

func TestReplayManyByFilter(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.skipped(t, "stripe", 5)
	b.skipped(t, "github", 2)
	b.accepted(t, "stripe", "evt_waiting")
	b.dispatched(t, "evt_done", ledger.AtLeastOnce)
	for name, c := range map[string]struct {
		filter inbox.ReplayFilter
		want   int64
	}{
		"all":     {inbox.ReplayFilter{}, 8},
		"source":  {inbox.ReplayFilter{Source: "github"}, 2},
		"type":    {inbox.ReplayFilter{Type: "invoice.paid"}, 8},
		"no type": {inbox.ReplayFilter{Type: "other"}, 0},
		"state":   {inbox.ReplayFilter{State: inbox.Skipped}, 7},
		"from":    {inbox.ReplayFilter{From: time.Now().Add(time.Hour)}, 0},
		"until":   {inbox.ReplayFilter{Until: time.Now().Add(-time.Hour)}, 0},
		"between": {inbox.ReplayFilter{From: time.Now().Add(-time.Hour), Until: time.Now().Add(time.Hour)}, 8},
	} {
		preview, err := b.PreviewReplay(t.Context(), c.filter, nil)
		require.NoError(t, err)
		require.Equal(t, c.want, preview.Selected, name)
		require.Len(t, preview.Sample, int(min(c.want, 5)), name)
	}
	var seen []inbox.ReplayProgress
	filter := inbox.ReplayFilter{Source: "stripe", State: inbox.Skipped, Match: func(e *inbox.Event) (bool, error) {
		require.NotEmpty(t, e.Body)
		if e.EventID == "evt_003" {
			return false, errors.New("no such key")
		}
		return e.EventID != "evt_002", nil
	}}
	preview, err := b.PreviewReplay(t.Context(), filter, nil)
	require.NoError(t, err)
	require.Equal(t, int64(3), preview.Selected, "the condition is evaluated")
	require.Equal(t, int64(1), preview.Unclear)
	require.ErrorContains(t, preview.WhyUnclear, "no such key")
	require.EqualValues(t, "evt_000", preview.Sample[0].EventID)
	done, err := b.ReplayMany(t.Context(), filter, ann, inbox.ReplayOptions{}, inbox.ReplayPace{Progress: func(p inbox.ReplayProgress) { seen = append(seen, p) }})
	require.NoError(t, err)
	require.Equal(t, int64(5), done.Total)
	require.Equal(t, int64(5), done.Seen)
	require.Equal(t, int64(3), done.Replayed)
	require.Equal(t, int64(1), done.Unclear)
	require.Len(t, seen, 5)
	require.EqualValues(t, "evt_004", seen[4].Last.EventID, "in the order they were accepted")
	require.Equal(t, 3, b.count(t, `SELECT count(*) FROM hooklatch.event_replays WHERE requested_by = 'ann'`), "recorded (I11)")
	require.Equal(t, 3, b.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE source = 'stripe' AND outcome = 'received' AND generation = 2`))
	log := b.actions(t)
	require.Len(t, log, 3)
	require.Equal(t, log[0].RequestID, log[2].RequestID, "one order")
}

// More than one page, and somebody changes his mind.
func TestReplayManyIsCancelled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const pageful = 200 // more than one page
	_, err := b.Accept(t.Context(), delivery("stripe", manyIDs(pageful+50)...))
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `UPDATE hooklatch.processed_events SET outcome = 'skipped'`)
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	done, err := b.ReplayMany(ctx, inbox.ReplayFilter{}, ann, inbox.ReplayOptions{}, inbox.ReplayPace{Progress: func(p inbox.ReplayProgress) {
		if p.Seen == pageful+10 {
			cancel(enough)
		}
	}})
	require.Error(t, err)
	require.Equal(t, int64(pageful+10), done.Replayed)
	require.Equal(t, pageful+10, b.count(t, `SELECT count(*) FROM hooklatch.event_replays`))
}

// More events lie between two of a replay than one statement looks at.
func TestReplayManyFindsWhatIsFarApart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.skipped(t, "stripe", 1)
	_, err := b.pool.Exec(t.Context(), `SET session_replication_role = replica;
		INSERT INTO hooklatch.processed_events (
			source, event_id, accept_seq, acceptance_id, provider, event_type, received_at, delivery_id, payload_hash, queue, outcome
		)
		SELECT 'github', 'evt_' || i, nextval('hooklatch.accept_seq'), md5('evt_' || i)::uuid, 'github', 'push', now(), md5('evt_' || i)::uuid, '', 'dispatch', 'dispatched'
		FROM generate_series(1, 41000) AS i;
		RESET session_replication_role`)
	require.NoError(t, err)
	_, err = b.Dispatch(t.Context(), Dispatch{Event: b.accepted(t, "stripe", "evt_last")})
	require.NoError(t, err)
	preview, err := b.PreviewReplay(t.Context(), inbox.ReplayFilter{Source: "stripe"}, nil)
	require.NoError(t, err)
	require.Equal(t, int64(2), preview.Selected)
	require.Len(t, preview.Sample, 2)
	everything, err := b.PreviewReplay(t.Context(), inbox.ReplayFilter{}, nil)
	require.NoError(t, err)
	require.Equal(t, int64(41_002), everything.Selected)
	done, err := b.ReplayMany(t.Context(), inbox.ReplayFilter{Source: "stripe"}, ann, inbox.ReplayOptions{}, inbox.ReplayPace{})
	require.NoError(t, err)
	require.Equal(t, int64(2), done.Replayed)
	require.EqualValues(t, "evt_last", done.Last.EventID)
}

func TestReplayManyKeepsItsPace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.skipped(t, "stripe", 6)
	began := time.Now()
	done, err := b.ReplayMany(t.Context(), inbox.ReplayFilter{}, ann, inbox.ReplayOptions{}, inbox.ReplayPace{PerSecond: 50})
	require.NoError(t, err)
	require.Equal(t, int64(6), done.Replayed)
	require.GreaterOrEqual(t, time.Since(began), 95*time.Millisecond)
}

func manyIDs(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("evt_%05d", i)
	}
	return ids
}
