package outbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Two batches with the same keys cannot deadlock if both take their locks in key order.
// lock_timeout is shorter than deadlock_timeout, so the absence of a deadlock would prove nothing.
// Instead, these tests hold the lock of the third of five keys. They check which other keys a batch
// in another order has locked when it reaches this lock.

// inLine is the order of five keys in a batch. It differs from the order in which they must be
// locked, which is 0 to 4.
var inLine = [...]int{4, 1, 3, 0, 2}

const middle = 2

func lineKey(i int) string { return fmt.Sprintf("evt_%d", i) }

// blockedBatch runs f in a transaction until the transaction waits for a lock that holder has. When
// the test ends, the transaction is rolled back.
func (b *bundle) blockedBatch(t *testing.T, holder pgx.Tx, f func(ctx context.Context, tx pgx.Tx) error) {
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

func (b *bundle) begin(t *testing.T) pgx.Tx {
	t.Helper()
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	return tx
}

// free returns the keys of a table's unlocked rows.
func (b *bundle) free(t *testing.T, table, key string) []string {
	t.Helper()
	rows, err := b.pool.Query(t.Context(), fmt.Sprintf(`SELECT %[2]s FROM hooklatch.%[1]s ORDER BY %[2]s COLLATE "C" FOR UPDATE SKIP LOCKED`, table, key))
	require.NoError(t, err)
	keys, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return keys
}

func TestBatchesLockRowsInKeyOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		table, key string
		batch      func(ctx context.Context, t *testing.T, b *bundle) func(ctx context.Context, tx pgx.Tx) error
	}{
		"fence": {"processed_events", "event_id", func(_ context.Context, t *testing.T, b *bundle) func(context.Context, pgx.Tx) error {
			var plans []Dispatch
			for _, i := range inLine {
				plans = append(plans, Dispatch{Event: b.accepted(t, "stripe", lineKey(i))})
			}
			return func(ctx context.Context, tx pgx.Tx) error { _, err := b.fence(ctx, tx, plans); return err }
		}},
		"note duplicates": {"processed_events", "event_id", func(_ context.Context, t *testing.T, b *bundle) func(context.Context, pgx.Tx) error {
			var notes []duplicateNote
			for _, i := range inLine {
				notes = append(notes, duplicateNote{ref: b.accepted(t, "stripe", lineKey(i)).EventRef, count: 1})
			}
			return func(ctx context.Context, tx pgx.Tx) error { _, err := b.noteDuplicateBatch(ctx, tx, notes); return err }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			batch := c.batch(t.Context(), t, b)
			holder := b.begin(t)
			_, err := holder.Exec(t.Context(), fmt.Sprintf(`SELECT FROM hooklatch.%s WHERE %s = $1 FOR UPDATE`, c.table, c.key), lineKey(middle))
			require.NoError(t, err)
			b.blockedBatch(t, holder, batch)
			require.Equal(t, []string{lineKey(3), lineKey(4)}, b.free(t, c.table, c.key))
		})
	}
}

// A query cannot see whether another transaction has inserted a key. The test therefore inserts the
// same key: its INSERT waits if another transaction has inserted the key.
func TestBatchesInsertInKeyOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		order  func(i, j int) int // order of the keys
		insert func(b *bundle, places ...int) func(ctx context.Context, tx pgx.Tx) error
	}{
		"accept": {nil, func(b *bundle, places ...int) func(context.Context, pgx.Tx) error {
			var batch []arrival
			for _, i := range places {
				a, err := b.newArrival(delivery("stripe", lineKey(i)))
				if err != nil {
					return func(context.Context, pgx.Tx) error { return err }
				}
				batch = append(batch, a)
			}
			return func(ctx context.Context, tx pgx.Tx) error { _, err := b.acceptBatch(ctx, tx, batch); return err }
		}},
		"accept with plans": {nil, func(b *bundle, places ...int) func(context.Context, pgx.Tx) error {
			var batch []arrival
			b.PlanWith(&plannerSpy{})
			for _, i := range places {
				a, err := b.newArrival(delivery("stripe", lineKey(i)))
				if err != nil {
					return func(context.Context, pgx.Tx) error { return err }
				}
				a.plans = b.plansFor(a)
				batch = append(batch, a)
			}
			return func(ctx context.Context, tx pgx.Tx) error { _, err := b.acceptBatch(ctx, tx, batch); return err }
		}},
		"create effects": {nil, func(b *bundle, places ...int) func(context.Context, pgx.Tx) error {
			return func(ctx context.Context, tx pgx.Tx) error {
				var plans []ledger.Plan
				for _, i := range places {
					e := &inbox.Event{EventRef: identity.EventRef{Source: "stripe", EventID: identity.EventID(lineKey(i))}, Generation: 1, EffectGeneration: 1}
					plans = append(plans, Dispatch{Event: e, Effects: []ledger.NewEffect{planned(e, lineKey(i))}}.plan())
				}
				_, err := b.Ledger().CreateTx(ctx, tx, plans, true)
				return err
			}
		}},
		"replay guards": {byHash, func(b *bundle, places ...int) func(context.Context, pgx.Tx) error {
			return func(ctx context.Context, tx pgx.Tx) error {
				var batch []arrival
				for _, i := range places {
					batch = append(batch, arrival{Delivery: Delivery{Source: "stripe", ReplayGuard: &ReplayGuard{Proof: []byte(lineKey(i))}}})
				}
				_, err := b.guardReplays(ctx, tx, batch)
				return err
			}
		}},
		"content guards": {byContent, func(b *bundle, places ...int) func(context.Context, pgx.Tx) error {
			return func(ctx context.Context, tx pgx.Tx) error {
				var batch []arrival
				for _, i := range places {
					d := delivery("stripe", lineKey(i))
					d.Body, d.ContentWindow = []byte(lineKey(i)), time.Hour
					a, err := b.newArrival(d)
					if err != nil {
						return err
					}
					batch = append(batch, a)
				}
				_, err := b.openWindows(ctx, tx, batch, nil)
				return err
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			keys := []int{0, 1, 2, 3, 4}
			if c.order != nil {
				slices.SortFunc(keys, c.order)
			}
			batch := make([]int, 0, len(inLine))
			for _, place := range inLine {
				batch = append(batch, keys[place])
			}
			holder := b.begin(t)
			require.NoError(t, c.insert(b, keys[middle])(t.Context(), holder))
			b.blockedBatch(t, holder, c.insert(b, batch...))
			var waits []int
			for place, key := range keys {
				err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
					if _, err := tx.Exec(t.Context(), `SET LOCAL lock_timeout = 50`); err != nil {
						return err
					}
					if err := c.insert(b, key)(t.Context(), tx); err != nil {
						return err
					}
					return pgx.ErrTxClosed // the lock was free: roll back
				})
				if pg, refused := sqlstate.Of(err); refused && sqlstate.Lock(pg.Code) {
					waits = append(waits, place)
					continue
				}
				require.ErrorIs(t, err, pgx.ErrTxClosed)
			}
			require.Equal(t, []int{0, 1, middle}, waits)
		})
	}
}

// byContent compares the keys of content windows. A key is a hash of a body and a type.
func byContent(i, j int) int {
	key := func(i int) []byte {
		body := sha256.Sum256([]byte(lineKey(i)))
		content := sha256.Sum256(append(body[:], "invoice.paid"...))
		return content[:]
	}
	return bytes.Compare(key(i), key(j))
}

func byHash(i, j int) int {
	first, second := sha256.Sum256([]byte(lineKey(i))), sha256.Sum256([]byte(lineKey(j)))
	return bytes.Compare(first[:], second[:])
}
