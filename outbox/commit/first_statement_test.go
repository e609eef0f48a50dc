package commit

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/failpoint"
	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// counted counts the writes to the server. One write contains all messages that are sent together.
type counted struct {
	net.Conn

	sent *atomic.Int64
}

func (c counted) Write(b []byte) (int, error) {
	c.sent.Add(1)
	return c.Conn.Write(b)
}

// oneConn returns a DB with one connection, on which no statement is prepared yet, and a counter of
// the writes to the connection.
func oneConn(t *testing.T) (*DB, *atomic.Int64) {
	t.Helper()
	var sent atomic.Int64
	config, err := pgxpool.ParseConfig(pgtest.URL(t, pgtest.New(t)))
	require.NoError(t, err)
	config.MaxConns = 1
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return counted{Conn: conn, sent: &sent}, err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	db, err := New(Options{Pool: pool})
	require.NoError(t, err)
	return db, &sent
}

// do runs f in a transaction that is not retried.
func do(t *testing.T, db *DB, f func(ctx context.Context, tx pgx.Tx) error) error {
	t.Helper()
	return db.Do(t.Context(), "test", Limits{Once: true}, func(ctx context.Context, tx pgx.Tx, _ bool) error { return f(ctx, tx) })
}

func TestATransactionOfOneStatementIsTwoRoundTrips(t *testing.T) {
	t.Parallel()
	if failpoint.Enabled {
		t.Skip("with failpoints, BEGIN is sent alone")
	}
	for form, statement := range map[string]func(ctx context.Context, tx pgx.Tx) error{
		"exec": func(ctx context.Context, tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, `SELECT $1::int`, 7)
			require.Equal(t, int64(1), tag.RowsAffected())
			return err
		},
		"rows": func(ctx context.Context, tx pgx.Tx) error {
			rows, err := tx.Query(ctx, `SELECT n FROM generate_series(1, $1::int) AS n`, 3)
			require.NoError(t, err)
			numbers, err := pgx.CollectRows(rows, pgx.RowTo[int])
			require.Equal(t, []int{1, 2, 3}, numbers)
			return err
		},
		"rows that are not closed": func(ctx context.Context, tx pgx.Tx) error {
			rows, err := tx.Query(ctx, `SELECT n FROM generate_series(1, $1::int) AS n`, 3)
			require.NoError(t, err)
			for rows.Next() {
				require.NoError(t, rows.Err())
			}
			return rows.Err()
		},
		"row": func(ctx context.Context, tx pgx.Tx) error {
			var n int
			err := tx.QueryRow(ctx, `SELECT $1::int`, 7).Scan(&n)
			require.Equal(t, 7, n)
			return err
		},
	} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			db, sent := oneConn(t)
			for range 2 { // the first run prepares the statement, and the second run prepares BEGIN
				require.NoError(t, do(t, db, statement))
			}
			before := sent.Load()
			require.NoError(t, do(t, db, statement))
			require.Equal(t, int64(2), sent.Load()-before, "BEGIN with the statement, and COMMIT")
		})
	}
}

// The settings apply to the first statement, however it is sent.
func TestTheFirstStatementHasTheSettings(t *testing.T) {
	t.Parallel()
	db, _ := oneConn(t)
	for range 3 {
		require.NoError(t, do(t, db, func(ctx context.Context, tx pgx.Tx) error {
			var lock, statement, idle, level string
			err := tx.QueryRow(ctx, `SELECT current_setting('lock_timeout'), current_setting('statement_timeout'),
				current_setting('idle_in_transaction_session_timeout'), current_setting('transaction_isolation')`).Scan(&lock, &statement, &idle, &level)
			require.Equal(t, []string{"250ms", "5s", "5s", "read committed"}, []string{lock, statement, idle, level})
			return err
		}))
	}
	require.NoError(t, db.Statement("test", func(db pipeline.ByIndex) error {
		var lock string
		err := db.QueryRow(t.Context(), `SELECT current_setting('lock_timeout')`).Scan(&lock)
		require.Equal(t, "0", lock, "the settings apply only to the transaction")
		return err
	}))
}

// An error of the first statement is returned like an error of any other statement. The transaction
// is rolled back, and the connection remains usable.
func TestTheFirstStatementMayFail(t *testing.T) {
	t.Parallel()
	db, _ := oneConn(t)
	require.NoError(t, do(t, db, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `CREATE TABLE numbers (n integer CHECK (n > 0))`)
		return err
	}))
	insert := func(n int) error {
		return do(t, db, func(ctx context.Context, tx pgx.Tx) error {
			var back int
			if err := tx.QueryRow(ctx, `INSERT INTO numbers VALUES ($1) RETURNING n`, n).Scan(&back); err != nil {
				return err
			}
			require.Equal(t, n, back)
			return nil
		})
	}
	for n := 1; n < 4; n++ {
		require.NoError(t, insert(n))
		require.NoError(t, insert(n))
		err := insert(-n)
		require.True(t, sqlstate.Is(err, sqlstate.CheckViolation), "%v", err)
		require.True(t, isBadData(err), "%v", err)
	}
	none := func(ctx context.Context, tx pgx.Tx) error {
		var n int
		return tx.QueryRow(ctx, `SELECT n FROM numbers WHERE n > 100`).Scan(&n)
	}
	for range 3 {
		require.ErrorIs(t, do(t, db, none), pgx.ErrNoRows)
	}
	refused := errors.New("no")
	for range 3 {
		require.ErrorIs(t, do(t, db, func(ctx context.Context, tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `INSERT INTO numbers VALUES (1000)`); err != nil {
				return err
			}
			return refused
		}), refused)
	}
	var sum int
	require.NoError(t, do(t, db, func(ctx context.Context, tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT sum(n) FROM numbers`).Scan(&sum)
	}))
	require.Equal(t, 12, sum)
}

// Functions registered with AfterCommit run only after a COMMIT.
func TestAfterCommit(t *testing.T) {
	t.Parallel()
	db, _ := oneConn(t)
	told := 0
	f := func(result error) func(ctx context.Context, tx pgx.Tx) error {
		return func(_ context.Context, tx pgx.Tx) error {
			tx.(interface{ AfterCommit(f func()) }).AfterCommit(func() { told++ }) //nolint:forcetypeassert // the test is about AfterCommit
			require.Zero(t, told)
			return result
		}
	}
	refused := errors.New("no")
	require.ErrorIs(t, do(t, db, f(refused)), refused)
	require.Zero(t, told)
	require.NoError(t, do(t, db, f(nil)))
	require.Equal(t, 1, told)
}
