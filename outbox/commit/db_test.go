package commit

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// Cancelling a COMMIT loses its outcome, so a caller that hangs up must not cancel the transaction
// that it requested.
func TestATransactionOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `CREATE TABLE numbers (n integer)`)
	require.NoError(t, err)
	db, err := New(Options{Pool: pool})
	require.NoError(t, err)

	caller, leave := context.WithCancel(t.Context())
	require.NoError(t, db.Do(caller, "test", Limits{}, func(ctx context.Context, tx pgx.Tx, repeated bool) error {
		require.False(t, repeated)
		leave()
		_, err := tx.Exec(ctx, `INSERT INTO numbers VALUES (1)`)
		return err
	}))
	var n int
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM numbers`).Scan(&n))
	require.Equal(t, 1, n)
}

// Recurring work does not delay a stop, whether the work is waiting for a lock or has not begun. The
// caller's deadline does not end the work.
func TestRecurringWorkEndsWithAStop(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `CREATE TABLE numbers (n integer PRIMARY KEY)`)
	require.NoError(t, err)
	db, err := New(Options{Pool: pool})
	require.NoError(t, err)
	holder, err := pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), `INSERT INTO numbers VALUES (1)`)
	require.NoError(t, err)

	caller, stop := context.WithCancel(t.Context())
	tries := 0
	insert := func(ctx context.Context, tx pgx.Tx, _ bool) error {
		if tries++; tries == 2 {
			stop()
		}
		_, err := tx.Exec(ctx, `INSERT INTO numbers VALUES (1) ON CONFLICT DO NOTHING`)
		return err
	}
	require.ErrorIs(t, db.Do(caller, "test", Limits{Recurring: true, Timeout: time.Hour}, insert), ErrUnavailable)
	require.Equal(t, 2, tries)
	require.ErrorIs(t, db.Do(caller, "test", Limits{Recurring: true, Timeout: time.Hour}, insert), ErrUnavailable)
	require.Equal(t, 2, tries, "it began after the stop")

	require.NoError(t, holder.Rollback(t.Context()))
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	require.NoError(t, db.Do(late, "test", Limits{Recurring: true}, insert))
	require.Equal(t, 3, tries)
}

// A trial leaves no rows, and functions registered with AfterCommit do not run.
func TestWhatIsTriedIsUndone(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `CREATE TABLE numbers (n integer)`)
	require.NoError(t, err)
	db, err := New(Options{Pool: pool})
	require.NoError(t, err)

	require.NoError(t, db.Do(t.Context(), "test", Limits{Undo: true}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		tx.(*transaction).AfterCommit(func() { t.Error("the function ran although the transaction was undone") })
		_, err := tx.Exec(ctx, `INSERT INTO numbers VALUES (1)`)
		return err
	}))
	var n int
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM numbers`).Scan(&n))
	require.Zero(t, n)
}

// Hooklatch's own statements must use an index, and are planned once. An application's statements may
// scan tables, and are planned as Postgres decides.
func TestOnlyForeignStatementsMayScanTables(t *testing.T) {
	t.Parallel()
	db, err := New(Options{Pool: pgtest.New(t)})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		limits Limits
		want   []string
	}{
		"ours":    {Limits{}, []string{"off", "off", "force_generic_plan"}},
		"foreign": {Limits{Foreign: true}, []string{"on", "off", "auto"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, db.Do(t.Context(), "test", c.limits, func(ctx context.Context, tx pgx.Tx, _ bool) error {
				var got [3]string
				err := tx.QueryRow(ctx, `SELECT current_setting('enable_seqscan'), current_setting('jit'), current_setting('plan_cache_mode')`).Scan(&got[0], &got[1], &got[2])
				require.Equal(t, c.want, got[:])
				return err
			}))
		})
	}
}
