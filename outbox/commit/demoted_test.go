package commit_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/schema/embedded"
)

// Every transaction on a real standby fails at BEGIN. The failure counts as an unavailable database,
// not as a fault of the members.
func TestAStandbyIsADatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	server, err := embedded.Start(t.Context(), embedded.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.Background())) })
	require.NoError(t, os.WriteFile(filepath.Join(server.DataDir(), "standby.signal"), nil, 0o644))
	require.NoError(t, server.Restart(t.Context()))
	config, err := pgxpool.ParseConfig(server.URL("postgres"))
	require.NoError(t, err)
	commit.PreparePool(config)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	db, err := commit.New(commit.Options{Pool: pool})
	require.NoError(t, err)

	run := func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `CREATE TABLE written ()`)
		return err
	}
	err = db.Do(t.Context(), "once", commit.Limits{Once: true}, func(ctx context.Context, tx pgx.Tx, _ bool) error { return run(ctx, tx) })
	require.ErrorIs(t, err, commit.ErrUnavailable)
	require.ErrorContains(t, err, "0A000")
	// A build with failpoints sends BEGIN alone, so the function is never called. The number of
	// acquired connections is therefore the number of tries.
	triedAgain := func(do func(timeout time.Duration) error) {
		t.Helper()
		for timeout := time.Second; ; timeout *= 2 { // a busy machine may have time for only one try
			before := pool.Stat().AcquireCount()
			require.ErrorIs(t, do(timeout), commit.ErrUnavailable)
			if tries := pool.Stat().AcquireCount() - before; tries > 1 {
				return
			}
			require.Less(t, timeout, time.Minute, "it must be tried again, because the next server may be a primary")
		}
	}
	triedAgain(func(timeout time.Duration) error {
		return db.Do(t.Context(), "again", commit.Limits{Timeout: timeout}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
			return run(ctx, tx)
		})
	})
	triedAgain(func(timeout time.Duration) error {
		group := commit.NewGroup(db, "group", commit.GroupOptions[int, int]{
			Timeout: timeout,
			Run: func(ctx context.Context, tx pgx.Tx, members []int) ([]int, error) {
				return members, run(ctx, tx)
			},
		})
		_, err := group.Submit(t.Context(), 1)
		return errors.Join(err, group.Stop(t.Context()))
	})
}
