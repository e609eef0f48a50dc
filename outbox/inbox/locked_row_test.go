package inbox

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A statement that locks a row may have to wait while another transaction changes the row. Its
// snapshot has the old row, but it must use and update the new row.
func TestOrdersSeeTheEventTheyWaitedFor(t *testing.T) {
	t.Parallel()
	sql, err := loadStatements(schema.Default)
	require.NoError(t, err)
	ref := identity.EventRef{Source: "stripe", EventID: "evt_1"}
	replay := func(ctx context.Context, tx pgx.Tx) error {
		_, err := sql.ReplayEvent.With(replayEvent{EventRef: ref, RequestedBy: "ann"}).Exec(ctx, tx)
		return err
	}
	release := func(ctx context.Context, tx pgx.Tx) error {
		_, err := sql.ReleaseEvent.With(ref).Exec(ctx, tx)
		return err
	}
	drop := func(ctx context.Context, tx pgx.Tx) error {
		_, err := sql.DropEvent.With(dropEvent{EventRef: ref, Error: "dropped"}).Exec(ctx, tx)
		return err
	}
	const counted = `duplicates = 5`
	for name, c := range map[string]struct {
		outcome    Outcome
		statement  func(ctx context.Context, tx pgx.Tx) error
		change     string
		want       Outcome
		generation int
		duplicates int64
		replays    int
	}{
		"replay, of what says nothing to it":  {Dispatched, replay, counted, Received, 2, 5, 1},
		"replay, by another replay":           {Dispatched, replay, `outcome = 'received', generation = 2`, Received, 2, 0, 0},
		"release, of what says nothing to it": {Held, release, counted, Received, 1, 5, 0},
		"release, of the outcome":             {Held, release, `outcome = 'dispatched'`, Dispatched, 1, 0, 0},
		"drop, of what says nothing to it":    {Held, drop, counted, Dropped, 1, 5, 0},
		"drop, of the outcome":                {Held, drop, `outcome = 'received'`, Received, 1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := pgtest.New(t)
			_, err := pool.Exec(t.Context(), `
				WITH delivered AS (
					INSERT INTO hooklatch.deliveries (delivery_id, source, headers, content_type, body)
					VALUES (gen_random_uuid(), $1, '{}', '', '')
					RETURNING delivery_id
				)
				INSERT INTO hooklatch.processed_events
					(source, event_id, accept_seq, acceptance_id, provider, event_type, delivery_id, payload_hash, queue, outcome)
				SELECT $1, $2, 1, gen_random_uuid(), 'stripe', 'invoice.paid', delivery_id, '', 'dispatch', $3
				FROM delivered`, ref.Source, ref.EventID, c.outcome)
			require.NoError(t, err)
			holder, err := pool.Begin(t.Context())
			require.NoError(t, err)
			_, err = holder.Exec(t.Context(), `UPDATE hooklatch.processed_events SET `+c.change)
			require.NoError(t, err)
			waiter, err := pool.Begin(t.Context())
			require.NoError(t, err)
			ended := make(chan error, 1)
			go func() { ended <- c.statement(context.Background(), waiter) }()
			require.Eventually(t, func() bool {
				var waits bool
				err := pool.QueryRow(t.Context(), `SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $1`, waiter.Conn().PgConn().PID()).Scan(&waits)
				return err == nil && waits
			}, 2*time.Minute, time.Millisecond)
			require.NoError(t, holder.Commit(t.Context()))
			require.NoError(t, <-ended)
			require.NoError(t, waiter.Commit(t.Context()))

			var outcome Outcome
			var generation, replays int
			var duplicates int64
			require.NoError(t, pool.QueryRow(t.Context(), `SELECT outcome, generation, duplicates, (SELECT count(*) FROM hooklatch.event_replays)
				FROM hooklatch.processed_events`).Scan(&outcome, &generation, &duplicates, &replays))
			require.Equal(t, c.want, outcome)
			require.Equal(t, c.generation, generation)
			require.Equal(t, c.duplicates, duplicates)
			require.Equal(t, c.replays, replays)
		})
	}
}
