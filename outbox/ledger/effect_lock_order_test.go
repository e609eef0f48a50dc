package ledger

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// blockedBatch runs f in a transaction until the transaction waits for a lock that holder has. It
// rolls the transaction back when the test ends.
func (b *ledgerBundle) blockedBatch(t *testing.T, holder pgx.Tx, f func(ctx context.Context, tx pgx.Tx) error) {
	t.Helper()
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- f(context.Background(), tx) }()
	t.Cleanup(func() {
		ctx := context.Background()
		require.NoError(t, holder.Rollback(ctx))
		require.NoError(t, <-ended)
		require.NoError(t, tx.Rollback(ctx))
	})
	require.Eventually(t, func() bool {
		return b.count(t, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND pid = $1`, tx.Conn().PgConn().PID()) == 1
	}, 2*time.Minute, time.Millisecond)
}

// free returns the keys of a table's unlocked rows, in key order.
func (b *ledgerBundle) free(t *testing.T, table, key string) []string {
	t.Helper()
	rows, err := b.pool.Query(t.Context(), fmt.Sprintf(`SELECT %[2]s FROM hooklatch.%[1]s ORDER BY %[2]s COLLATE "C" FOR UPDATE SKIP LOCKED`, table, key))
	require.NoError(t, err)
	keys, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return keys
}

// Two batches with the same keys cannot deadlock if both take their locks in key order.
// lock_timeout is shorter than deadlock_timeout, so the absence of a deadlock would prove nothing.
// Instead, the test holds the lock of the third of five keys. Then it checks which other keys a
// batch in another order has locked when it reaches this lock.
func TestBatchesOfEffectsLockRowsInKeyOrder(t *testing.T) {
	t.Parallel()
	key := func(i int) string { return fmt.Sprintf("evt_%d", i) }
	places := [...]int{4, 1, 3, 0, 2} // order of the keys in a batch, which is not the key order
	const middle = 2
	for name, c := range map[string]struct {
		table, key string
		batch      func(ctx context.Context, t *testing.T, b *ledgerBundle) func(ctx context.Context, tx pgx.Tx) error
	}{
		"claim": {"effects", "key", func(_ context.Context, t *testing.T, b *ledgerBundle) func(context.Context, pgx.Tx) error {
			var claims []Claim
			for _, i := range places {
				claims = append(claims, claiming(b.added(t, key(i), AtLeastOnce)))
			}
			return func(ctx context.Context, tx pgx.Tx) error { _, err := b.claimBatch(ctx, tx, claims); return err }
		}},
		"settle": {"effects", "key", func(_ context.Context, t *testing.T, b *ledgerBundle) func(context.Context, pgx.Tx) error {
			var ended []*Settlement
			for _, i := range places {
				ended = append(ended, &Settlement{Effect: b.granted(t, b.added(t, key(i), AtLeastOnce)), Verdict: VerdictDone})
			}
			return func(ctx context.Context, tx pgx.Tx) error { _, err := b.settleBatch(ctx, tx, ended); return err }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := ledgerOn(t)
			batch := c.batch(t.Context(), t, b)
			holder := b.begin(t)
			_, err := holder.Exec(t.Context(), fmt.Sprintf(`SELECT FROM hooklatch.%s WHERE %s = $1 FOR UPDATE`, c.table, c.key), key(middle))
			require.NoError(t, err)
			b.blockedBatch(t, holder, batch)
			require.Equal(t, []string{key(3), key(4)}, b.free(t, c.table, c.key))
		})
	}
}
