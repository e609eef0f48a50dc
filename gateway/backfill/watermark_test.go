package backfill

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/sjson"

	"github.com/hooklatch/hooklatch/internal/coverage"
)

// All 300 events within one second are read, whichever page and slice they are on.
func TestAllEventsOfOneSecondAreRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	w.happen(300, "invoice.paid", never)
	require.EqualValues(t, 300, w.turn().Recovered)
}

// The next pass finds an event that the list shows late, because that pass overlaps the previous
// one.
func TestWhatIsListedLateIsMet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	w.happen(9, "invoice.paid", never)
	late := w.event("invoice.paid", 0, true)
	require.EqualValues(t, 9, w.turn().Recovered)
	w.list(late)
	require.EqualValues(t, 1, w.turn().Recovered)
}

// The watermark is committed in one transaction with the events before it.
func TestTheWatermarkMovesWithTheEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	w.happen(3, "invoice.paid", never)
	_, err := w.pool.Exec(t.Context(), `
		CREATE FUNCTION hooklatch.hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'it may not move'; END $$;
		CREATE TRIGGER hold BEFORE UPDATE ON hooklatch.coverage FOR EACH ROW
			WHEN (NEW.covered_until > now() - interval '30 minutes') EXECUTE FUNCTION hooklatch.hold()`)
	require.NoError(t, err)
	require.NotEmpty(t, w.turn().Error)
	require.Zero(t, w.stored("backfill"))
	_, err = w.pool.Exec(t.Context(), "DROP TRIGGER hold ON hooklatch.coverage")
	require.NoError(t, err)
	require.EqualValues(t, 3, w.turn().Recovered)
}

// An event that the provider reports as delivered may still be missing here: after a restore
// of our database, or if another server received the delivery.
func TestWhatTheProviderCallsDeliveredIsComparedToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "paddle", "ntfset_01gkpjp8bkm3tm53kdgkx6sms7")
	w.happen(3, "transaction.completed", never)
	w.mu.Lock()
	for _, h := range w.events {
		h.delivered = true
	}
	w.mu.Unlock()
	require.EqualValues(t, 3, w.turn().Recovered)
}

// The pass over the complete window finds an event that the list shows later than the overlap.
func TestTheDeepPassMeetsWhatWasListedVeryLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	w.source.Settings.Overlap = time.Second
	w.turn()
	w.happen(2, "invoice.paid", never)
	require.Zero(t, w.turn().Recovered)
	w.source.Settings.Deep = time.Nanosecond
	require.EqualValues(t, 2, w.turn().Recovered)
}

// If a pass's time ends before its last batch is stored, the pass records its position. The
// position must not be after that batch, even if the batch was the last one of its page or slice.
func TestAPassWhoseTimeEndsMovesToWhatIsStored(t *testing.T) {
	t.Parallel()
	for name, c := range listings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, name, c.endpoint)
			w.source.Settings.Overlap = time.Millisecond
			w.happen(3, c.eventType, never)
			before := w.mark()
			holder, err := w.pool.Begin(t.Context())
			require.NoError(t, err)
			_, err = holder.Exec(t.Context(), "LOCK TABLE hooklatch.processed_events IN ACCESS EXCLUSIVE MODE")
			require.NoError(t, err)
			w.hurry()
			ctx, end := context.WithCancel(t.Context())
			defer end()
			ended := make(chan error, 1)
			go func() { ended <- w.backfill.Turn(ctx) }()
			require.Eventually(t, func() bool {
				return w.count(`SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'hooklatch.processed_events'::regclass
					AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND $1 <> ''`) > 0
			}, 2*time.Minute, time.Millisecond, "the pass asks which events are stored")
			end()
			require.NoError(t, <-ended)
			require.NoError(t, holder.Rollback(t.Context()))
			require.False(t, w.state().CoveredUntil.After(w.events[0].at), "nothing is stored")
			require.Equal(t, before, w.mark())
			w.turn()
			w.turn() // finds out which redeliveries have arrived
			require.ElementsMatch(t, ids(w.events), w.dispatched())
		})
	}
}

// A pass that is lost between two batches has recorded nothing beyond the first batch: the
// next pass stores the rest.
func TestAPassThatIsLostBetweenBatchesLosesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ endpoint, eventType string }{
		"stripe": {"we_1", "invoice.paid"},
		"gitlab": {"projects/7/hooks/1", "push"},
		"okta":   {"who8vt36qfNpCGz9H1e6", "user.lifecycle.create"},
		"paddle": {"ntfset_01gkpjp8bkm3tm53kdgkx6sms7", "transaction.completed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, name, c.endpoint)
			w.happen(5*batchItems, c.eventType, never)
			_, err := w.pool.Exec(t.Context(), fmt.Sprintf(`
				CREATE FUNCTION hooklatch.lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
					IF (SELECT count(*) FROM hooklatch.processed_events) > %d THEN RAISE 'lost here'; END IF;
					RETURN NULL;
				END $$;
				CREATE TRIGGER lose AFTER INSERT ON hooklatch.processed_events FOR EACH STATEMENT EXECUTE FUNCTION hooklatch.lose()`, batchItems))
			require.NoError(t, err)
			require.NotEmpty(t, w.turn().Error)
			require.LessOrEqual(t, w.stored("backfill"), batchItems)
			_, err = w.pool.Exec(t.Context(), "DROP TRIGGER lose ON hooklatch.processed_events")
			require.NoError(t, err)
			require.Empty(t, w.turn().Error)
			require.Equal(t, 5*batchItems, w.stored("backfill"))
		})
	}
}

// A list without times is read by its numbers. The times in its payloads say nothing about the
// delivery: GitLab reports when an issue was last updated.
func TestListsWithoutTimesAreReadByNumber(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "gitlab", "projects/7/hooks/1")
	w.happen(1, "push", never)
	require.EqualValues(t, 1, w.turn().Recovered)
	w.happen(25, "issue.open", never)
	w.mu.Lock()
	for _, h := range w.events[1:] {
		body, err := sjson.SetBytes(h.webhook.Body, "object_attributes.updated_at", "2020-01-01T00:00:00Z")
		require.NoError(t, err)
		h.webhook.Body = body
	}
	w.mu.Unlock()
	require.EqualValues(t, 25, w.turn().Recovered)
}

// The watermark does not pass an event that waits for its redelivery, and the event itself
// never moves the watermark.
func TestWhatWaitsHoldsTheWatermarkBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "github", "repos/acme/shop/hooks/1")
	c, stream := w.outbox.Coverage(), w.source.stream("")
	before := w.state().CoveredUntil
	waits := before.Add(time.Minute)
	_, err := c.Ask(t.Context(), stream, coverage.Redelivery{EventID: "e", Ref: "1", HappenedAt: waits, Tries: 1})
	require.NoError(t, err)
	row, err := c.Begin(t.Context(), stream, true, time.Minute, 0)
	require.NoError(t, err)
	move := func(m coverage.Move) {
		require.NoError(t, pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error { return c.MoveTx(t.Context(), tx, row, m) }))
	}
	move(coverage.Move{})
	require.Equal(t, before, w.state().CoveredUntil)
	move(coverage.Move{CoveredUntil: waits.Add(time.Hour)})
	require.Equal(t, waits, w.state().CoveredUntil)

	// The source's other lists are not held back.
	another := w.source.stream("another account")
	other, err := c.Begin(t.Context(), another, true, time.Minute, 0)
	require.NoError(t, err)
	require.NoError(t, pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error {
		return c.MoveTx(t.Context(), tx, other, coverage.Move{CoveredUntil: other.Now.Add(time.Hour)})
	}))
	states, err := c.States(t.Context())
	require.NoError(t, err)
	require.Equal(t, another, states[1].Stream)
	require.Equal(t, other.Now.Add(time.Hour), states[1].CoveredUntil)

	// An older pass can write nothing more.
	_, err = c.Begin(t.Context(), stream, true, time.Minute, 0)
	require.NoError(t, err)
	err = pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error { return c.MoveTx(t.Context(), tx, row, coverage.Move{}) })
	require.ErrorIs(t, err, coverage.ErrOvertaken)
}
