package worker

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

var errTestRow = errors.New("no row 3")

// deafRows yields one row. The second call of Next closes the channel waiting, and returns once the
// channel release is closed.
type deafRows struct {
	read    int
	waiting chan struct{}
	release chan struct{}
}

func (r *deafRows) Next() bool {
	if r.read++; r.read > 1 {
		close(r.waiting)
		<-r.release
		return false
	}
	return true
}

func (r *deafRows) Values() ([]any, error) { return []any{r.read}, nil }
func (r *deafRows) Err() error             { return nil }

// The rollback does not share the connection with a copy whose source never returns. Otherwise the
// race detector would report a race.
func TestAnAbandonedCopyDoesNotShareTheConnection(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.pool.Exec(t.Context(), `CREATE TABLE public.copied (n integer)`)
	require.NoError(t, err)
	for range 20 {
		tx, err := b.pool.Begin(t.Context())
		require.NoError(t, err)
		fenced := newFencedTx(tx)
		rows := &deafRows{waiting: make(chan struct{}), release: make(chan struct{})}
		ended := make(chan error, 1)
		go func() {
			_, err := fenced.CopyFrom(context.WithoutCancel(t.Context()), pgx.Identifier{"public", "copied"}, []string{"n"}, rows)
			ended <- err
		}()
		<-rows.waiting
		fenced.abandon()
		require.Error(t, tx.Rollback(t.Context()))
		require.Error(t, <-ended, "the copy ends although its source does not")
		close(rows.release)
		require.Panics(t, func() { _ = fenced.Conn() })
	}
	require.Zero(t, b.count(t, `SELECT count(*) FROM public.copied`))
}

// A savepoint of an abandoned transaction cannot be used.
func TestASavepointIsFencedLikeItsTransaction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	fenced := newFencedTx(tx)
	require.NoError(t, pgx.BeginFunc(t.Context(), fenced, func(savepoint pgx.Tx) error {
		_, err := savepoint.Exec(t.Context(), `CREATE TABLE public.of_savepoint ()`)
		return err
	}))
	savepoint, err := fenced.Begin(t.Context())
	require.NoError(t, err)
	inner, err := savepoint.Begin(t.Context())
	require.NoError(t, err)
	_, err = inner.Exec(t.Context(), `SELECT * FROM public.of_savepoint`)
	require.NoError(t, err)
	fenced.abandon()
	require.Error(t, tx.Rollback(t.Context()))
	for _, one := range []pgx.Tx{savepoint, inner} {
		require.PanicsWithValue(t, "the transaction was used after its attempt was abandoned", func() { _, _ = one.Exec(t.Context(), `SELECT 1`) })
	}
}

// A copy stores all rows of its source, or returns the source's error.
func TestACopyReadsAllRows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.pool.Exec(t.Context(), `CREATE TABLE public.copied (n integer)`)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		rows   pgx.CopyFromSource
		copied int64
		wrong  string
	}{
		"no rows":   {rows: pgx.CopyFromRows(nil)},
		"many rows": {rows: pgx.CopyFromSlice(100_000, func(i int) ([]any, error) { return []any{i}, nil }), copied: 100_000},
		"an error in a row": {wrong: "no row 3", rows: pgx.CopyFromSlice(10, func(i int) ([]any, error) {
			if i == 3 {
				return nil, errTestRow
			}
			return []any{i}, nil
		})},
		"an error at the end": {wrong: "no row 3", rows: pgx.CopyFromFunc(func() ([]any, error) { return nil, errTestRow })},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tx, err := b.pool.Begin(t.Context())
			require.NoError(t, err)
			defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
			began := time.Now()
			n, err := newFencedTx(tx).CopyFrom(t.Context(), pgx.Identifier{"public", "copied"}, []string{"n"}, c.rows)
			t.Logf("%s: %s", name, time.Since(began))
			if c.wrong != "" {
				require.ErrorContains(t, err, c.wrong)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.copied, n)
		})
	}
}
