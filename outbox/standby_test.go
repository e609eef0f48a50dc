package outbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// replicated is a test's own server, which can require a synchronous standby. The standby does not
// exist, so COMMITs wait until the server no longer requires the standby.
type replicated struct {
	*bundle

	admin *pgxpool.Pool
}

// onReplicated starts a server for the test, and returns it with an Outbox on a prepared pool.
func onReplicated(t *testing.T, options ...func(*Options)) *replicated {
	t.Helper()
	admin := pgtest.New(t, pgtest.Own())
	config, err := pgxpool.ParseConfig(pgtest.URL(t, admin))
	require.NoError(t, err)
	commit.PreparePool(config)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	brief := func(opts *Options) { opts.AcceptTimeout = time.Second } // the time limit of a COMMIT that waits for the standby
	return &replicated{bundle: onPool(t, pool, append([]func(*Options){brief}, options...)...), admin: admin}
}

// standbys sets synchronous_standby_names.
func (r *replicated) standbys(t *testing.T, names string) {
	t.Helper()
	_, err := r.admin.Exec(context.Background(), `ALTER SYSTEM SET synchronous_standby_names = '`+names+`'`)
	require.NoError(t, err)
	_, err = r.admin.Exec(context.Background(), `SELECT pg_reload_conf()`)
	require.NoError(t, err)
}

// away makes the server require a standby that is unavailable, and returns when COMMITs wait for
// it. It tries again if Accept gives up before its COMMIT waits, as on a busy machine.
func (r *replicated) away(t *testing.T) {
	t.Helper()
	r.standbys(t, "never_there")
	n := 0
	require.Eventually(t, func() bool {
		n++
		accepted := make(chan error, 1)
		go func() {
			_, err := r.Accept(context.Background(), delivery("stripe", fmt.Sprintf("new_%d", n)))
			accepted <- err
		}()
		waits := false
		for len(accepted) == 0 && !waits {
			err := r.admin.QueryRow(context.Background(), `SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'`).Scan(&waits)
			require.NoError(t, err)
		}
		return errors.Is(<-accepted, commit.ErrUnavailable) && waits
	}, 2*time.Minute, 10*time.Millisecond)
}

// cancelWaits ends waits for the standby with pg_cancel_backend, until done is called. It reports
// each wait once, although its query may find a wait twice on a busy machine. done returns when the
// last query has ended, because a query must not outlive its pool.
func (r *replicated) cancelWaits(t *testing.T) (cancelled <-chan struct{}, done func()) {
	t.Helper()
	said := make(chan struct{}, 1000)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		waits := map[string]bool{}
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			rows, err := r.admin.Query(context.Background(), `
				SELECT pid || ' ' || query_start
				FROM pg_stat_activity
				WHERE CASE WHEN wait_event = 'SyncRep' THEN pg_cancel_backend(pid) ELSE false END`)
			var now []string
			if err == nil {
				now, err = pgx.CollectRows(rows, pgx.RowTo[string])
			}
			if err != nil {
				t.Errorf("cancel waits: %v", err)
				return
			}
			for _, wait := range now {
				if !waits[wait] {
					waits[wait] = true
					said <- struct{}{}
				}
			}
		}
	}()
	done = sync.OnceFunc(func() {
		close(stop)
		<-ended
	})
	t.Cleanup(done)
	return said, done
}

// The server answers COMMIT with a warning if the wait for the standby is cancelled. Such a
// response is not an acknowledgement.
func TestCancelledWaitForTheStandbyIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	r := onReplicated(t, func(opts *Options) { opts.AcceptTimeout = 500 * time.Millisecond })
	r.away(t)
	cancelled, done := r.cancelWaits(t)
	for len(cancelled) == 0 { // on a busy machine, Accept may time out before its COMMIT waits
		_, err := r.Accept(t.Context(), delivery("stripe", "evt_1"))
		require.ErrorIs(t, err, commit.ErrUnavailable)
	}
	require.ErrorIs(t, r.CanCommit(t.Context()), commit.ErrNotOnStandby, "readiness reports it too")
	_, err := r.Accept(t.Context(), delivery("stripe", "evt_1"))
	require.ErrorIs(t, err, commit.ErrUnavailable, "a duplicate of the event is not acknowledged either")
	done()

	r.standbys(t, "")
	require.Eventually(t, func() bool {
		a, err := r.Accept(context.Background(), delivery("stripe", "evt_1"))
		return err == nil && a.Duplicates() == 1
	}, 2*time.Minute, 10*time.Millisecond)
}

// The retry finds the rows of the try whose wait was cancelled, and writes nothing, but still waits
// for the standby.
func TestTryAfterACancelledWaitWaitsForTheStandby(t *testing.T) {
	t.Parallel()
	r := onReplicated(t)
	id := r.dispatched(t, "evt_1", ledger.AtLeastOnce)
	r.away(t)
	cancelled, done := r.cancelWaits(t)
	type answer struct {
		claimed ledger.Claimed
		err     error
	}
	answers := make(chan answer, 1)
	go func() {
		c, err := r.Ledger().Claim(context.Background(), claimOf(id))
		answers <- answer{c, err}
	}()
	<-cancelled
	<-cancelled // the wait of the second try, which found the claim
	done()
	require.Empty(t, answers)
	r.standbys(t, "")
	a := <-answers
	require.NoError(t, a.err)
	require.Equal(t, ledger.ClaimGranted, a.claimed.Status)
	require.Equal(t, 1, a.claimed.Effect.Attempt)
}

// A settlement that an earlier try has recorded also waits for the standby.
func TestTryThatFindsItsSettlementWaitsForTheStandby(t *testing.T) {
	t.Parallel()
	r := onReplicated(t)
	e := r.granted(t, r.dispatched(t, "evt_1", ledger.AtLeastOnce), lease)
	r.waitsTwice(t, func(ctx context.Context) error {
		_, err := r.Ledger().Settle(ctx, ledger.Settlement{Effect: e, Verdict: ledger.VerdictDone})
		return err
	})
}

// An operator action that an earlier try has recorded also waits for the standby. Its second try
// does not even lock a row, so only Hooklatch's WAL message makes its COMMIT wait.
func TestTryThatFindsItsOrderWaitsForTheStandby(t *testing.T) {
	t.Parallel()
	r := onReplicated(t, func(opts *Options) { opts.AcceptTimeout = 500 * time.Millisecond })
	id := r.dispatched(t, "evt_1", ledger.AtLeastOnce)
	r.waitsTwice(t, func(ctx context.Context) error { return r.Ledger().Cancel(ctx, id.IdempotencyKey(), ann) })
}

// A request that a caller repeats, for example after a lost response, also waits for the standby.
func TestRequestThatIsRepeatedWaitsForTheStandby(t *testing.T) {
	t.Parallel()
	r := onReplicated(t)
	id := r.dispatched(t, "evt_1", ledger.AtLeastOnce)
	by := ann
	by.RequestID = uuid.NewString()
	cancel := func(ctx context.Context) error { return r.Ledger().Cancel(ctx, id.IdempotencyKey(), by) }
	require.NoError(t, cancel(t.Context()))
	r.waitsTwice(t, cancel)
}

// waitsTwice requires that two tries of f wait for an unavailable standby, before f returns.
func (r *replicated) waitsTwice(t *testing.T, f func(ctx context.Context) error) {
	t.Helper()
	r.away(t)
	cancelled, done := r.cancelWaits(t)
	answered := make(chan error, 1)
	go func() { answered <- f(context.Background()) }()
	for range 2 {
		select {
		case <-cancelled:
		case err := <-answered:
			require.Fail(t, "answered before the standby has it", "%v", err)
		}
	}
	done()
	r.standbys(t, "")
	require.NoError(t, <-answered)
}

// An application whose COMMIT has no response enqueues the effect again. Its second transaction finds
// the effect and writes nothing, but still waits for the standby.
func TestEnqueueAgainWaitsForTheStandby(t *testing.T) {
	t.Parallel()
	r := onReplicated(t)
	r.register(t, fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app"})
	r.away(t)
	inSQL := func(call string) func(context.Context, pgx.Tx) (bool, error) {
		return func(ctx context.Context, tx pgx.Tx) (created bool, err error) {
			err = tx.QueryRow(ctx, `SELECT hooklatch.`+call).Scan(&created)
			return created, err
		}
	}
	for name, enqueue := range map[string]func(context.Context, pgx.Tx) (bool, error){
		"Go": func(ctx context.Context, tx pgx.Tx) (bool, error) {
			return r.EnqueueTx(ctx, tx, Enqueue{Destination: "app", Key: "in-go", Request: ledger.Request{Body: []byte("{}")}})
		},
		"SQL":           inSQL(`enqueue('app', 'in-sql', '{}')`),
		"bytes and SQL": inSQL(`enqueue_bytes('app', 'in-bytes', 'x')`),
	} {
		conn, err := r.pool.Acquire(t.Context())
		require.NoError(t, err)
		t.Cleanup(conn.Release) // a failed test releases it too: its pool could not be closed otherwise
		transact := func(want bool) (committed chan error) {
			committed = make(chan error, 1)
			go func() {
				committed <- pgx.BeginFunc(context.Background(), conn, func(tx pgx.Tx) error {
					created, err := enqueue(context.Background(), tx)
					if err == nil && created != want {
						err = fmt.Errorf("created: %t", created)
					}
					return err
				})
			}()
			return committed
		}
		_, done := r.cancelWaits(t)
		require.NoError(t, <-transact(true), name) // Postgres only warns that the wait of this COMMIT was cancelled
		done()

		again := transact(false)
		require.Eventually(t, func() bool {
			var waits bool
			err := r.admin.QueryRow(context.Background(), `SELECT wait_event = 'SyncRep' FROM pg_stat_activity WHERE pid = $1 AND wait_event IS NOT NULL`,
				conn.Conn().PgConn().PID()).Scan(&waits)
			return err == nil && waits || len(again) > 0
		}, 2*time.Minute, 10*time.Millisecond, name)
		require.Empty(t, again, "%s: committed before the standby has it", name)
		r.standbys(t, "")
		require.NoError(t, <-again, name)
		r.away(t)
	}
	r.standbys(t, "")
}

func TestPoolThatIsNotPreparedIsRefusedWithAStandby(t *testing.T) {
	t.Parallel()
	r := onReplicated(t)
	b := onPool(t, r.admin, func(opts *Options) { opts.AcceptTimeout = 500 * time.Millisecond })
	b.accepts(t, delivery("stripe", "evt_1")) // without a standby any pool is accepted

	r.standbys(t, "never_there")
	r.admin.Reset() // a connection checks again after 10 seconds; new ones check immediately
	for _, refused := range []func() error{
		func() error { _, err := b.Accept(t.Context(), delivery("stripe", "evt_2")); return err },
		func() error { return b.CanCommit(t.Context()) },
	} {
		var err error
		require.Eventually(t, func() bool { err = refused(); return errors.Is(err, commit.ErrPoolNotPrepared) }, 2*time.Minute, 10*time.Millisecond)
		require.ErrorContains(t, err, "commit.PreparePool")
	}
	r.standbys(t, "")
}
