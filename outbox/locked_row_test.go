package outbox

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// A statement that locks rows may wait for a row that another transaction is changing. Its snapshot
// has the old row, but it must use and update the new row.
func TestStatementsSeeTheEventTheyWaitedFor(t *testing.T) {
	t.Parallel()
	type statement func(ctx context.Context, b *bundle, tx pgx.Tx, e *inbox.Event) error
	fence := func(ctx context.Context, b *bundle, tx pgx.Tx, e *inbox.Event) error {
		_, err := b.fence(ctx, tx, []Dispatch{{Event: e}})
		return err
	}
	noteDuplicate := func(ctx context.Context, b *bundle, tx pgx.Tx, e *inbox.Event) error {
		_, err := b.noteDuplicateBatch(ctx, tx, []duplicateNote{{ref: e.EventRef, count: 1}})
		return err
	}
	failed := func(ctx context.Context, b *bundle, tx pgx.Tx, e *inbox.Event) error {
		_, err := b.sql.FailDispatch.With(failDispatch{EventRef: e.EventRef, Generation: e.Generation, Error: "no"}).Exec(ctx, tx)
		return err
	}
	const (
		counted    = `duplicates = 5`
		replayed   = `generation = 2`
		dispatched = `outcome = 'dispatched'`
	)
	for name, c := range map[string]struct {
		statement  statement
		change     string
		outcome    inbox.Outcome
		duplicates int64
	}{
		"fence, of what says nothing to it":         {fence, counted, inbox.Skipped, 5},
		"fence, of the generation":                  {fence, replayed, inbox.Received, 0},
		"fence, of the outcome":                     {fence, dispatched, inbox.Dispatched, 0},
		"note duplicates, of their number":          {noteDuplicate, counted, inbox.Received, 6},
		"fail dispatch, of what says nothing to it": {failed, counted, inbox.Failed, 5},
		"fail dispatch, of the generation":          {failed, replayed, inbox.Received, 0},
		"fail dispatch, of the outcome":             {failed, dispatched, inbox.Dispatched, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			e := b.accepted(t, "stripe", "evt_1")
			holder, waiter := b.begin(t), b.begin(t)
			_, err := holder.Exec(t.Context(), `UPDATE hooklatch.processed_events SET `+c.change)
			require.NoError(t, err)
			ended := make(chan error, 1)
			go func() { ended <- c.statement(context.Background(), b, waiter, e) }()
			require.Eventually(t, func() bool {
				return b.count(t, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND pid = $1`, waiter.Conn().PgConn().PID()) == 1
			}, 2*time.Minute, time.Millisecond)
			require.NoError(t, holder.Commit(t.Context()))
			require.NoError(t, <-ended)
			require.NoError(t, waiter.Commit(t.Context()))

			stands, err := b.Event(t.Context(), e.EventRef)
			require.NoError(t, err)
			require.Equal(t, c.outcome, stands.Outcome)
			require.Equal(t, c.duplicates, stands.Duplicates)
		})
	}
}
