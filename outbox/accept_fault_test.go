package outbox

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A missing partition is Hooklatch's fault. The sender must deliver the event again, so the event
// is not refused.
func TestAcceptWithoutPartitionIsUnavailable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.pool.Exec(t.Context(), `DO $$ DECLARE part regclass; BEGIN
		FOR part IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'hooklatch.deliveries'::regclass LOOP
			EXECUTE 'DROP TABLE ' || part;
		END LOOP; END $$`)
	require.NoError(t, err)
	_, err = b.Accept(t.Context(), delivery("stripe", "evt_1"))
	require.ErrorIs(t, err, commit.ErrUnavailable)
	_, err = b.MakePartitions(t.Context())
	require.NoError(t, err)
	a, err := b.Accept(t.Context(), delivery("stripe", "evt_1"))
	require.NoError(t, err)
	require.Equal(t, 1, a.New())
}

// Another transaction holds a key. A delivery with that key waits for the transaction, and is then
// a duplicate. Other deliveries do not wait.
func TestAcceptWaitsForAnUncommittedFirst(t *testing.T) {
	t.Parallel()
	b := setup(t, func(opts *Options) { opts.AcceptTimeout = 20 * time.Second })
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = b.AcceptTx(t.Context(), tx, delivery("stripe", "evt_1"))
	require.NoError(t, err)

	result := make(chan Acceptance, 1)
	go func() {
		a, err := b.Accept(context.Background(), delivery("stripe", "evt_1"))
		if err != nil {
			t.Errorf("accept: %v", err)
		}
		result <- a
	}()
	_, err = b.Accept(t.Context(), delivery("stripe", "evt_2"))
	require.NoError(t, err)
	require.Empty(t, result)
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, 1, (<-result).Duplicates())
}

// With synchronous replication a row may be visible but not yet on the standby. A duplicate of this
// row must not be acknowledged before the standby has the row.
func TestDuplicateWaitsForTheStandby(t *testing.T) {
	t.Parallel()
	r := onReplicated(t, func(opts *Options) { opts.AcceptTimeout = 500 * time.Millisecond })
	r.accepts(t, delivery("stripe", "evt_1"))
	r.away(t)
	_, err := r.Accept(t.Context(), delivery("stripe", "evt_1"))
	require.ErrorIs(t, err, commit.ErrUnavailable)
	r.standbys(t, "")
	require.Eventually(t, func() bool {
		a, err := r.Accept(context.Background(), delivery("stripe", "evt_1"))
		return err == nil && a.Duplicates() == 1
	}, 2*time.Minute, 10*time.Millisecond)
}

// F11: a pool with a single connection serves all callers in turn.
func TestAcceptWithOneConnection(t *testing.T) {
	t.Parallel()
	b := onPool(t, pgtest.New(t, pgtest.MaxConns(1)), func(opts *Options) { opts.AcceptTimeout = 20 * time.Second })
	done := make(chan error)
	for i := range 50 {
		go func() {
			_, err := b.Accept(context.Background(), delivery("stripe", "evt_"+string(rune('a'+i%10))))
			done <- err
		}()
	}
	for range 50 {
		require.NoError(t, <-done)
	}
	require.Equal(t, 10, b.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
}

// AcceptTx does not check the state of the caller's transaction, but a failed transaction must
// leave nothing behind.
func TestAcceptTxInAFailedTransaction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `SELECT 1/0`)
		require.Error(t, err)
		_, err = b.AcceptTx(t.Context(), tx, delivery("stripe", "evt_1"))
		return err
	})
	require.Error(t, err)
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
}
