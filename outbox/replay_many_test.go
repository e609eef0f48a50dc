package outbox

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// skipped stores n events that match no route.
func (b *bundle) skipped(t *testing.T, source string, n int) {
	t.Helper()
	for i := range n {
		_, err := b.Dispatch(t.Context(), Dispatch{Event: b.accepted(t, source, fmt.Sprintf("evt_%03d", i))})
		require.NoError(t, err)
	}
}

// acceptedIn stores n events in one delivery, and gives all stored events the outcome.
func (b *bundle) acceptedIn(t *testing.T, n int, outcome string) {
	t.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("evt_%05d", i)
	}
	_, err := b.Accept(t.Context(), delivery("stripe", ids...))
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `UPDATE hooklatch.processed_events SET outcome = $1`, outcome)
	require.NoError(t, err)
}

func replayOf(s find.Events) runs.Order {
	return runs.Order{Action: ledger.ActionReplayEvent, Events: s}
}

func TestAReplayTakesWhatAllItsFieldsName(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.runsOf(t)
	b.skipped(t, "stripe", 5)
	b.skipped(t, "github", 2)
	b.accepted(t, "stripe", "evt_waiting")
	b.dispatched(t, "evt_done", ledger.AtLeastOnce)
	for name, c := range map[string]struct {
		s    find.Events
		want int64
	}{
		"all":     {find.Events{}, 8},
		"source":  {find.Events{Source: "github"}, 2},
		"type":    {find.Events{Type: "invoice.paid"}, 8},
		"no type": {find.Events{Type: "other"}, 0},
		"state":   {find.Events{State: inbox.Skipped}, 7},
		"from":    {find.Events{Span: find.Span{Since: time.Now().Add(time.Hour)}}, 0},
		"until":   {find.Events{Span: find.Span{Until: time.Now().Add(-time.Hour)}}, 0},
		"between": {find.Events{Span: find.Span{Since: time.Now().Add(-time.Hour), Until: time.Now().Add(time.Hour)}}, 8},
	} {
		preview, err := r.Preview(t.Context(), replayOf(c.s), runs.Bite{})
		require.NoError(t, err)
		require.Equal(t, c.want, preview.Selected, name)
		require.Len(t, preview.Sample, int(c.want), name)
	}
	for wrong, s := range map[string]find.Events{
		"is not possible for events that are":                                 {State: inbox.Received},
		"the selection contains no time: its end must be after its beginning": {Span: find.Span{Since: time.Now(), Until: time.Now().Add(-time.Hour)}},
	} {
		_, err := r.Begin(t.Context(), replayOf(s), ann)
		require.ErrorContains(t, err, wrong)
	}
}

// A condition may depend on the body, and events are replayed in the order in which they were
// accepted.
func TestAReplayIsDecidedByBodiesAndInOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.skipped(t, "stripe", 5)
	r := b.deciding(func(e *inbox.Event) (bool, error) { return len(e.Body) > 0 && e.EventID != "evt_002", nil })
	run, err := r.Begin(t.Context(), replayOf(find.Events{Content: find.Content{When: "its body"}}), ann)
	require.NoError(t, err)
	require.Equal(t, int64(4), b.workOff(t, r, run.ID, nil).Changed)
	rows, err := b.pool.Query(t.Context(), `SELECT event_id FROM hooklatch.event_replays ORDER BY requested_at, event_id`)
	require.NoError(t, err)
	var order []string
	for rows.Next() {
		var id string
		require.NoError(t, rows.Scan(&id))
		order = append(order, id)
	}
	require.NoError(t, rows.Err())
	require.Equal(t, []string{"evt_000", "evt_001", "evt_003", "evt_004"}, order)
	require.Equal(t, 4, b.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'received' AND generation = 2`))
	require.Len(t, b.actions(t), 1, "the run is one operator action")
}

// A run is interrupted between two events of a page, and continues there.
func TestAReplayIsCutOffBetweenTwoEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.runsOf(t)
	const before = 200 // ten more are replayed before the interruption
	b.acceptedIn(t, before+50, "skipped")
	run, err := r.Begin(t.Context(), replayOf(find.Events{}), ann)
	require.NoError(t, err)
	ctx, cut := context.WithCancelCause(t.Context())
	run, err = r.Work(ctx, run.ID, time.Now().Add(whenever), func(at runs.Run) {
		if at.Changed == before+10 {
			cut(errors.New("enough"))
		}
	})
	require.NoError(t, err)
	require.Equal(t, runs.Running, run.State)
	require.Equal(t, int64(before+10), run.Changed)
	require.Equal(t, before+10, b.count(t, `SELECT count(*) FROM hooklatch.event_replays`))
	require.Equal(t, runs.Counts{Selected: before + 50, Changed: before + 50}, b.workOff(t, r, run.ID, nil).Counts)
	require.Equal(t, before+50, b.count(t, `SELECT count(*) FROM hooklatch.event_replays`))
}

// Two matching events are separated by more events than one statement reads.
func TestAReplayFindsWhatIsFarApart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.runsOf(t)
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
	everything, err := r.Preview(t.Context(), replayOf(find.Events{}), runs.Bite{})
	require.NoError(t, err)
	require.Equal(t, int64(41_002), everything.Selected)
	run, err := r.Begin(t.Context(), replayOf(find.Events{Source: "stripe"}), ann)
	require.NoError(t, err)
	require.Equal(t, runs.Counts{Selected: 2, Changed: 2}, b.workOff(t, r, run.ID, nil).Counts)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.event_replays WHERE event_id = 'evt_last'`))
}

func TestAReplayKeepsItsPace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.runsOf(t)
	b.skipped(t, "stripe", 6)
	order := replayOf(find.Events{})
	order.PerSecond = 50
	run, err := r.Begin(t.Context(), order, ann)
	require.NoError(t, err)
	began := time.Now()
	require.Equal(t, int64(6), b.workOff(t, r, run.ID, nil).Changed)
	require.GreaterOrEqual(t, time.Since(began), 95*time.Millisecond)
}
