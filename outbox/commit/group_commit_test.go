package commit

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// gate is a Group that inserts numbers into a table. Its transactions wait for a signal, so that a
// test decides which members share a batch.
type gate struct {
	*Group[int, int]

	pool    *pgxpool.Pool
	entered chan []int    // members of each transaction that began
	open    chan struct{} // each send lets one transaction continue; closed: all continue
}

func newGate(t *testing.T, change func(*GroupOptions[int, int])) *gate {
	t.Helper()
	g := &gate{pool: pgtest.New(t), entered: make(chan []int, 1000), open: make(chan struct{})}
	_, err := g.pool.Exec(t.Context(), `CREATE TABLE numbers (n integer PRIMARY KEY CHECK (n <> 13))`)
	require.NoError(t, err)
	opts := GroupOptions[int, int]{
		Run: func(ctx context.Context, tx pgx.Tx, members []int) ([]int, error) {
			g.entered <- members
			<-g.open
			_, err := tx.Exec(ctx, `INSERT INTO numbers SELECT unnest($1::integer[]) ON CONFLICT DO NOTHING`, members)
			return members, err
		},
		Committers: 1, QueueCap: 100, Timeout: 20 * time.Second,
	}
	if change != nil {
		change(&opts)
	}
	db, err := New(Options{Pool: g.pool})
	require.NoError(t, err)
	g.Group = NewGroup(db, "test", opts)
	t.Cleanup(func() { require.NoError(t, g.Stop(context.Background())) })
	return g
}

// batch submits members so that they form one batch after a first member. It then lets all
// transactions continue, and returns the members' errors.
func (g *gate) batch(t *testing.T, members ...int) map[int]error {
	t.Helper()
	var mu sync.Mutex
	errs := make(map[int]error)
	var all sync.WaitGroup
	submit := func(n int) {
		all.Go(func() {
			got, err := g.Submit(context.Background(), n)
			mu.Lock()
			defer mu.Unlock()
			if err == nil && got != n {
				err = fmt.Errorf("got the result of %d", got)
			}
			errs[n] = err
		})
	}
	submit(0)
	<-g.entered
	for i, n := range members {
		submit(n)
		require.Eventually(t, func() bool {
			g.mu.Lock()
			defer g.mu.Unlock()
			return len(g.queue) == i+1
		}, 2*time.Minute, time.Millisecond)
	}
	close(g.open)
	all.Wait()
	require.NoError(t, errs[0])
	delete(errs, 0)
	return errs
}

func TestGroupCommitSharesOneTransaction(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	errs := g.batch(t, 1, 2, 3, 4, 5)
	for n, err := range errs {
		require.NoError(t, err, n)
	}
	require.Equal(t, []int{1, 2, 3, 4, 5}, <-g.entered)
	require.Empty(t, g.entered)
}

func TestGroupCommitHasPatienceWithTheBatchUnderWay(t *testing.T) {
	t.Parallel()
	g := newGate(t, func(opts *GroupOptions[int, int]) { opts.Committers, opts.Patience = 2, time.Hour })
	g.batch(t, 1, 2, 3)
	require.Equal(t, []int{1, 2, 3}, <-g.entered, "they waited together")
	require.Empty(t, g.entered)
}

func TestGroupCommitBeginsBesideASlowOrAFullBatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		patience time.Duration
		members  int
	}{
		"slow": {patience: 20 * time.Millisecond, members: 1},
		"full": {patience: time.Hour, members: maxBatchMembers},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t, func(opts *GroupOptions[int, int]) { opts.Committers, opts.Patience = 2, c.patience })
			require.True(t, g.Offer(1000))
			require.Equal(t, []int{1000}, <-g.entered)
			for n := range c.members {
				require.True(t, g.Offer(n+100))
			}
			require.Len(t, <-g.entered, c.members, "the first is still under way")
			close(g.open)
		})
	}
}

func TestGroupCommitInlineLeavesOthersToACommitter(t *testing.T) {
	t.Parallel()
	g := newGate(t, func(opts *GroupOptions[int, int]) { opts.Inline = true })
	var submitter sync.WaitGroup
	submitter.Go(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // an inline Submit still returns the outcome of its own member
		got, err := g.Submit(ctx, 1)
		require.NoError(t, err)
		require.Equal(t, 1, got)
	})
	require.Equal(t, []int{1}, <-g.entered)
	require.True(t, g.Offer(2))
	stopped := make(chan error)
	go func() { stopped <- g.Stop(context.Background()) }()
	g.open <- struct{}{}
	submitter.Wait()
	require.Equal(t, []int{2}, <-g.entered, "a submitter does not wait for another submitter's member")
	select {
	case <-stopped:
		t.Fatal("a member is still under way")
	default:
	}
	close(g.open)
	require.NoError(t, <-stopped)
	require.Zero(t, g.active)
}

func TestGroupCommitBoundsABatch(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	g.opts.Weigh = func(n int) (int, int) {
		if n == 3 {
			return 1, 2 * maxBatchBytes // is committed alone
		}
		return 1, 1
	}
	g.batch(t, 1, 2, 3, 4, 5)
	require.Equal(t, []int{1, 2}, <-g.entered)
	require.Equal(t, []int{3}, <-g.entered)
	require.Equal(t, []int{4, 5}, <-g.entered)

	many := make([]int, maxBatchMembers+1)
	for i := range many {
		many[i] = 100 + i
	}
	g = newGate(t, nil)
	g.batch(t, many...)
	require.Len(t, <-g.entered, maxBatchMembers)
	require.Len(t, <-g.entered, 1)

	g = newGate(t, nil)
	g.opts.Weigh = func(int) (int, int) { return maxBatchItems/2 + 1, 1 }
	g.batch(t, 1, 2)
	require.Equal(t, []int{1}, <-g.entered)
	require.Equal(t, []int{2}, <-g.entered)
}

func TestGroupCommitIsolatesBadData(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	errs := g.batch(t, 1, 2, 13, 4, 5, 6, 7)
	for n, err := range errs {
		if n == 13 {
			require.ErrorContains(t, err, "numbers_n_check")
			continue
		}
		require.NoError(t, err, n)
	}
	var stored int
	require.NoError(t, g.pool.QueryRow(t.Context(), `SELECT count(*) FROM numbers`).Scan(&stored))
	require.Equal(t, 7, stored) // including the 0 of the first batch
}

// A member that cannot be stored fails alone, whatever error the server reports: a missing
// partition, a damaged page, an error of a trigger or extension. Temporary errors are retried
// for that member, and its neighbours do not wait.
func TestGroupCommitIsolatesWhateverIsRefused(t *testing.T) {
	t.Parallel()
	for code, passes := range map[string]bool{
		"23514": false, "42501": false, "42P01": false, "0A000": false, "54000": false, "55000": false, "P0001": false, "XX001": false, "ABCDE": false,
		"XX000": true, "40001": true, "53200": true, "57014": true, "58030": true,
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			g := newGate(t, func(opts *GroupOptions[int, int]) { opts.Timeout = time.Minute })
			_, err := g.pool.Exec(t.Context(), `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
				BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '`+code+`'; END $$`)
			require.NoError(t, err)
			_, err = g.pool.Exec(t.Context(), `CREATE TRIGGER refuse BEFORE INSERT ON numbers FOR EACH ROW WHEN (NEW.n = 3) EXECUTE FUNCTION refuse()`)
			require.NoError(t, err)
			ctx, end := context.WithCancel(t.Context())
			var healing sync.WaitGroup
			defer healing.Wait()
			defer end()
			healing.Go(func() { // lifts the refusal once the member's neighbours are committed
				for stored := 0; stored < 4 && ctx.Err() == nil; {
					_ = g.pool.QueryRow(ctx, `SELECT count(*) FROM numbers WHERE n > 0`).Scan(&stored)
				}
				_, _ = g.pool.Exec(ctx, `DROP TRIGGER refuse ON numbers`)
			})
			for n, err := range g.batch(t, 1, 2, 3, 4, 5) {
				if n == 3 && !passes {
					require.ErrorContains(t, err, "refused")
					continue
				}
				require.NoError(t, err, n)
			}
		})
	}
}

func TestGroupCommitRefusesWhenFull(t *testing.T) {
	t.Parallel()
	g := newGate(t, func(opts *GroupOptions[int, int]) { opts.QueueCap = 2 })
	open := sync.OnceFunc(func() { close(g.open) })
	t.Cleanup(open)
	var all sync.WaitGroup
	submit := func(n int) { all.Go(func() { _, _ = g.Submit(context.Background(), n) }) }
	submit(0)
	<-g.entered
	submit(1)
	submit(2)
	require.Eventually(t, func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.queue) == 2
	}, 2*time.Minute, time.Millisecond)
	_, err := g.Submit(t.Context(), 3)
	require.ErrorIs(t, err, ErrBusy)
	require.ErrorContains(t, err, "2 are already waiting", "it is refused immediately, not when its time is over")
	open()
	all.Wait()
}

// A member that got ErrBusy must not be stored later, not even with a later neighbour that still
// has time.
func TestGroupCommitForgetsMembersThatGaveUp(t *testing.T) {
	t.Parallel()
	g := newGate(t, func(opts *GroupOptions[int, int]) { opts.Timeout = 5 * time.Second })
	var all sync.WaitGroup
	all.Go(func() { _, _ = g.Submit(context.Background(), 1) })
	<-g.entered
	_, err := g.Submit(t.Context(), 2) // the test blocks the committer, so the member's time runs out in the queue
	require.ErrorIs(t, err, ErrBusy)
	require.True(t, g.Offer(3))
	close(g.open)
	all.Wait()
	require.NoError(t, g.Stop(t.Context()))
	select {
	case batch := <-g.entered:
		require.Equal(t, []int{3}, batch)
	default:
		require.Fail(t, "the neighbour that still had time was not committed")
	}
	var stored int
	require.NoError(t, g.pool.QueryRow(t.Context(), `SELECT count(*) FROM numbers WHERE n NOT IN (1, 3)`).Scan(&stored))
	require.Zero(t, stored)
}

// The caller hangs up while its member waits. The member is still committed.
func TestGroupCommitOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		_, err := g.Submit(ctx, 7)
		if err == nil {
			t.Error("Submit returned no error although its context was cancelled")
		}
	})
	<-g.entered
	cancel()
	all.Wait()
	close(g.open)
	require.NoError(t, g.Stop(t.Context()))
	var stored int
	require.NoError(t, g.pool.QueryRow(t.Context(), `SELECT count(*) FROM numbers WHERE n = 7`).Scan(&stored))
	require.Equal(t, 1, stored)
}

// On a busy server, the first statements on a connection can take longer than the timeout of every
// member. The members are not committed, but the connection is kept, so later members are. Here a
// connection is slow until it has an advisory lock, which outlasts ROLLBACK.
func TestGroupCommitKeepsAConnectionThatIsSlowAtFirst(t *testing.T) {
	t.Parallel()
	g := newGate(t, func(opts *GroupOptions[int, int]) {
		opts.Timeout = 250 * time.Millisecond
		opts.Run = func(ctx context.Context, tx pgx.Tx, members []int) ([]int, error) {
			_, err := tx.Exec(ctx, `SELECT CASE WHEN count(*) = 0 THEN pg_sleep(1) END, pg_advisory_lock_shared(1) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()`)
			if err == nil {
				_, err = tx.Exec(ctx, `INSERT INTO numbers SELECT unnest($1::integer[])`, members)
			}
			return members, err
		}
	})
	var err error
	for n := range 100 {
		if _, err = g.Submit(t.Context(), n); err == nil {
			break
		}
	}
	require.NoError(t, err)
	var stored bool
	require.NoError(t, g.pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM numbers WHERE n = 0)`).Scan(&stored))
	require.False(t, stored, "its statements ended after its timeout")
}

// COMMIT itself may wait for the NOTIFY lock. Every member of the batch needs this lock and none
// holds it, so the batch stays together.
func TestCommitThatWaitsForALockIsNotBisected(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	_, err := g.pool.Exec(t.Context(), `
		CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON numbers DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait()`)
	require.NoError(t, err)
	holder, err := g.pool.Begin(t.Context())
	require.NoError(t, err)
	all := make(chan error)
	go func() { _, err := g.Submit(context.Background(), 1); all <- err }()
	require.Equal(t, []int{1}, <-g.entered)
	for n := 2; n <= 4; n++ {
		go func() { _, err := g.Submit(context.Background(), n); all <- err }()
	}
	require.Eventually(t, func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.queue) == 3
	}, 2*time.Minute, time.Millisecond)
	_, err = holder.Exec(t.Context(), `SELECT pg_advisory_xact_lock(1)`)
	require.NoError(t, err)
	close(g.open)
	require.Equal(t, []int{1}, <-g.entered, "the batch is tried again unchanged")
	require.Equal(t, []int{1}, <-g.entered)
	require.Empty(t, g.blocked, "no member waits for a lock")
	require.NoError(t, holder.Rollback(t.Context()))
	for range 4 {
		require.NoError(t, <-all)
	}
	for len(g.entered) > 0 {
		if batch := <-g.entered; len(batch) > 1 {
			require.Len(t, batch, 3)
		}
	}
}
