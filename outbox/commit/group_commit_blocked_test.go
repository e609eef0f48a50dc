package commit

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// One member waits for a lock. Neither its neighbours nor later members wait.
func TestGroupCommitSidelinesBlockedMembers(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	holder, err := g.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), `INSERT INTO numbers VALUES (3)`)
	require.NoError(t, err)

	through := make(chan struct{})
	blocked := make(chan error, 1)
	var all sync.WaitGroup
	all.Go(func() {
		_, err := g.Submit(context.Background(), 3)
		blocked <- err
	})
	require.Equal(t, []int{3}, <-g.entered)
	for _, n := range []int{1, 2, 4, 5} {
		all.Go(func() {
			if _, err := g.Submit(context.Background(), n); err != nil {
				t.Errorf("neighbour %d: %v", n, err)
			}
			through <- struct{}{}
		})
	}
	close(g.open)
	for range 4 {
		<-through // they are committed while the lock is still held
	}
	require.Empty(t, blocked)
	require.NoError(t, holder.Rollback(t.Context()))
	require.NoError(t, <-blocked)
	all.Wait()
}

// Two members of a batch wait for locks. The second is committed when its lock is released, although
// the first still waits.
func TestGroupCommitGivesEachBlockedMemberItsTurns(t *testing.T) {
	t.Parallel()
	g := newGate(t, func(o *GroupOptions[int, int]) { o.Timeout = time.Minute })
	hold := func(n int) pgx.Tx {
		tx, err := g.pool.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), `INSERT INTO numbers VALUES ($1)`, n)
		require.NoError(t, err)
		return tx
	}
	first, second := hold(1), hold(2)
	done := [2]chan error{make(chan error, 1), make(chan error, 1)}
	go func() { _, _ = g.Submit(context.Background(), 0) }()
	<-g.entered
	for i, end := range done {
		go func() { _, err := g.Submit(context.Background(), i+1); end <- err }()
		require.Eventually(t, func() bool {
			g.mu.Lock()
			defer g.mu.Unlock()
			return len(g.queue) == i+1
		}, 2*time.Minute, time.Millisecond)
	}
	close(g.open)
	for _, members := range [][]int{{1, 2}, {1, 2}, {1}, {2}, {1}} { // together, bisected, in turns
		require.Equal(t, members, <-g.entered)
	}
	require.NoError(t, second.Rollback(t.Context()))
	require.NoError(t, <-done[1])
	require.Empty(t, done[0])
	require.NoError(t, first.Rollback(t.Context()))
	require.NoError(t, <-done[0])
}

// Five batches wait for locks. Four of them have a lane, and the fifth must not hold up the
// committer.
func TestGroupCommitRefusesMoreBlockedBatchesThanLanes(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	close(g.open)
	holder, err := g.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), `INSERT INTO numbers SELECT generate_series(1, 5)`)
	require.NoError(t, err)
	blocked := make(chan error, maxBlockedLanes)
	for n := range maxBlockedLanes {
		go func() { _, err := g.Submit(context.Background(), n+1); blocked <- err }()
		require.Eventually(t, func() bool { return len(g.blocked) == n+1 }, 2*time.Minute, time.Millisecond)
	}
	_, err = g.Submit(t.Context(), 5)
	require.ErrorIs(t, err, ErrBusy)
	_, err = g.Submit(t.Context(), 6)
	require.NoError(t, err, "other members are committed")
	require.NoError(t, holder.Rollback(t.Context()))
	for range maxBlockedLanes {
		require.NoError(t, <-blocked)
	}
}

// The response to a member's COMMIT was lost, and its next try is refused because no lane is free. The
// error does not claim that nothing was stored.
func TestGroupCommitRefusesAnUnknownOutcomeAsUnavailable(t *testing.T) {
	t.Parallel()
	tries := 0
	g := newGate(t, func(o *GroupOptions[int, int]) {
		o.Run = func(ctx context.Context, tx pgx.Tx, members []int) ([]int, error) {
			if tries++; tries > 1 {
				if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(1)`); err != nil {
					return nil, err
				}
			}
			_, err := tx.Exec(ctx, `INSERT INTO numbers SELECT unnest($1::integer[])`, members)
			return members, err
		}
	})
	_, err := g.pool.Exec(t.Context(), `
		CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM pg_terminate_backend(pg_backend_pid());
			PERFORM pg_sleep(1);
			RETURN NULL;
		END
		$$;
		CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON numbers DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION end_session()`)
	require.NoError(t, err)
	holder, err := g.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), `SELECT pg_advisory_xact_lock(1)`)
	require.NoError(t, err)
	for range maxBlockedLanes {
		g.blocked <- struct{}{}
	}
	_, err = g.Submit(t.Context(), 1)
	require.ErrorIs(t, err, ErrUnavailable)
	require.NotErrorIs(t, err, ErrBusy)
	require.Greater(t, tries, 1)
	require.NoError(t, holder.Rollback(t.Context()))
}

// No lane is free, and a batch has one member that waits for a lock. Only that member is refused.
func TestGroupCommitRefusesNoNeighboursOfABlockedMember(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	holder, err := g.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), `INSERT INTO numbers VALUES (5)`)
	require.NoError(t, err)
	for range maxBlockedLanes {
		g.blocked <- struct{}{}
	}
	for n, err := range g.batch(t, 1, 2, 3, 4, 5, 6, 7, 8) {
		if n == 5 {
			require.ErrorIs(t, err, ErrBusy)
			continue
		}
		require.NoError(t, err, n)
	}
	require.NoError(t, holder.Rollback(t.Context()))
}
