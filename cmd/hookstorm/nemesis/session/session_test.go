package session_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/nemesis/session"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// bundle is a database with two pools: ours belongs to the application, and target.Pool to the
// faults.
type bundle struct {
	ours   *pgxpool.Pool
	target session.Target
}

func setup(t *testing.T, opts ...pgtest.Option) bundle {
	t.Helper()
	ours := pgtest.New(t, opts...)
	config := ours.Config()
	config.ConnConfig.RuntimeParams["application_name"] = "hookstorm"
	// The application's session detects the deadlock.
	config.ConnConfig.RuntimeParams["deadlock_timeout"] = "60s"
	// The address in the pool's configuration is out of date, as after a failover.
	host, port := config.ConnConfig.Host, config.ConnConfig.Port
	config.ConnConfig.Host, config.ConnConfig.Port, config.ConnConfig.Fallbacks = "127.0.0.1", 1, nil
	config.BeforeConnect = func(_ context.Context, conn *pgx.ConnConfig) error {
		conn.Host, conn.Port = host, port
		return nil
	}
	foreign, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(foreign.Close)
	return bundle{ours: ours, target: session.Target{Pool: foreign}}
}

// strike injects a fault of the given kind.
func (b bundle) strike(t *testing.T, kind string) (session.Struck, error) {
	t.Helper()
	for _, fault := range session.Faults() {
		if fault.Kind == kind {
			return fault.Strike(t.Context(), rand.New(rand.NewPCG(1, 2)), b.target)
		}
	}
	require.Fail(t, "no fault of the kind "+kind)
	return session.Struck{}, nil
}

func (b bundle) mustStrike(t *testing.T, kind string) session.Struck {
	t.Helper()
	struck, err := b.strike(t, kind)
	require.NoError(t, err)
	require.NotEmpty(t, struck.What)
	t.Cleanup(func() { require.NoError(t, struck.Heal(context.Background())) })
	return struck
}

func (b bundle) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := b.ours.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// effect stores a due effect.
func (b bundle) effect(t *testing.T, key string) {
	t.Helper()
	b.exec(t, `INSERT INTO hooklatch.effects (scope, key, idempotency_key, destination, queue, policy)
		VALUES ('test', $1, $1, 'somewhere', 'default', 'at_least_once')`, key)
}

func code(err error) string {
	if said, answered := errors.AsType[*pgconn.PgError](err); answered {
		return said.Code
	}
	return ""
}

// everyTable writes to each of the tables, but changes no row.
const everyTable = `
	UPDATE hooklatch.processed_events SET outcome = outcome WHERE false;
	UPDATE hooklatch.effects SET state = state WHERE false;
	UPDATE hooklatch.links SET key = key WHERE false;
	UPDATE hooklatch.attempts SET state = state WHERE false;
	UPDATE hooklatch.destinations SET name = name WHERE false;
	UPDATE hooklatch.deliveries SET source = source WHERE false;
	UPDATE hooklatch.river_job SET kind = kind WHERE false`

func TestATableLockedByDDLIsFreeAfterwards(t *testing.T) {
	t.Parallel()
	b := setup(t)
	struck := b.mustStrike(t, "lock_held_by_ddl")
	_, err := b.ours.Exec(t.Context(), "SET LOCAL lock_timeout = 50;"+everyTable)
	require.Equal(t, "55P03", code(err), struck.What)
	require.NoError(t, struck.Heal(t.Context()))
	b.exec(t, everyTable)
	var added int
	require.NoError(t, b.ours.QueryRow(t.Context(),
		"SELECT count(*) FROM information_schema.columns WHERE column_name = 'hookstorm_locked'").Scan(&added))
	require.Zero(t, added)
}

func TestADeadlockEndsTheTransactionThatWaitedLonger(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.strike(t, "deadlock_with_application")
	require.ErrorIs(t, err, session.ErrNothing)
	b.effect(t, "a")
	b.effect(t, "b")
	done := make(chan error, 1)
	go func() {
		struck, err := b.strike(t, "deadlock_with_application")
		if err == nil && struck.What != "2 rows locked in the opposite order, beginning with b: the server ended ours" {
			err = errors.New(struck.What)
		}
		done <- err
	}()
	// The fault queries its own backend id once it has its locks. A test of the row with FOR UPDATE
	// would lock the row.
	untilLocked := func() {
		require.Eventually(t, func() bool {
			var locked bool
			err := b.ours.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity
				WHERE datname = current_database() AND state = 'idle in transaction' AND query = 'SELECT pg_backend_pid()')`).Scan(&locked)
			return err == nil && locked
		}, 2*time.Minute, time.Millisecond)
	}
	const lock = "SELECT 1 FROM hooklatch.effects WHERE key = $1 FOR UPDATE"
	untilLocked()
	b.exec(t, lock, "b") // the session holds nothing when it waits: the fault releases its locks and tries again
	require.ErrorIs(t, pgx.BeginFunc(t.Context(), b.ours, func(tx pgx.Tx) error {
		// On a busy machine, the fault may need more than a second to begin its wait. It waits at
		// most 5 seconds.
		_, err := tx.Exec(t.Context(), "SET LOCAL deadlock_timeout = '4s'")
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), lock, "a")
		require.NoError(t, err)
		untilLocked()
		_, err = tx.Exec(t.Context(), lock, "b")
		require.Equal(t, "40P01", code(err))
		return nil
	}), pgx.ErrTxCommitRollback)
	require.NoError(t, <-done)
}

func TestBackendsAreCancelledAndTerminated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for kind, want := range map[string]string{"backend_cancelled": "57014", "backend_terminated": "57P01"} {
		conn, err := b.ours.Acquire(t.Context())
		require.NoError(t, err)
		pid := conn.Conn().PgConn().PID()
		b.target.Ours = func() []int32 { return []int32{int32(pid)} }
		done := make(chan error, 1)
		go func() {
			_, err := conn.Exec(t.Context(), "SELECT pg_sleep(60)")
			done <- err
		}()
		struck := b.mustStrike(t, kind)
		// A connection that is terminated before its statement reports the same error.
		require.Equal(t, want, code(<-done), struck.What)
		conn.Release()
	}
	b.target.Ours = func() []int32 { return nil }
	_, err := b.strike(t, "backend_terminated")
	require.ErrorIs(t, err, session.ErrNothing, "an empty list selects no backend, not all of them")

	b.target.Ours = nil
	require.NoError(t, b.ours.Ping(t.Context()))
	b.mustStrike(t, "backend_terminated")
	require.NoError(t, b.target.Pool.Ping(t.Context()), "a fault never strikes its own connections")
}

func TestAVacuumAndASnapshotDisturbAndPass(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.mustStrike(t, "vacuum_full")
	struck := b.mustStrike(t, "old_snapshot_held")
	b.exec(t, everyTable)
	var held int
	const holders = "SELECT count(*) FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND application_name = 'hookstorm' AND datname = current_database()"
	require.NoError(t, b.ours.QueryRow(t.Context(), holders).Scan(&held))
	require.Equal(t, 1, held, struck.What)
	require.NoError(t, struck.Heal(t.Context()))
	require.NoError(t, b.ours.QueryRow(t.Context(), holders).Scan(&held))
	require.Zero(t, held)
}

func TestOnlyLiveJobsAreDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.strike(t, "jobs_deleted")
	require.ErrorIs(t, err, session.ErrNothing)
	b.exec(t, `INSERT INTO hooklatch.river_job (kind, args, max_attempts, state, finalized_at)
		SELECT 'effect', '{}'::jsonb, 1, 'available'::hooklatch.river_job_state, NULL::timestamptz FROM generate_series(1, 10) UNION ALL SELECT 'effect', '{}', 1, 'completed', now()`)
	b.mustStrike(t, "jobs_deleted")
	var live, ended int
	require.NoError(t, b.ours.QueryRow(t.Context(),
		"SELECT count(*) FILTER (WHERE state = 'available'), count(*) FILTER (WHERE state = 'completed') FROM hooklatch.river_job").Scan(&live, &ended))
	require.Less(t, live, 10)
	require.GreaterOrEqual(t, live, 5)
	require.Equal(t, 1, ended)
}

func TestAFullDiskHasRoomAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	struck := b.mustStrike(t, "disk_full")
	_, err := b.ours.Exec(t.Context(), everyTable)
	require.Equal(t, "53100", code(err), struck.What)
	require.NoError(t, struck.Heal(t.Context()))
	b.exec(t, everyTable)
	require.NoError(t, struck.Heal(t.Context()), "again")
}

func TestAllSlotsAreTakenAndGivenBack(t *testing.T) {
	t.Parallel()
	b := setup(t, pgtest.Setting("max_connections", "12"), pgtest.Setting("superuser_reserved_connections", "0"))
	require.NoError(t, b.ours.Ping(t.Context()))
	struck := b.mustStrike(t, "slots_taken")
	var one *pgx.Conn
	require.Eventually(t, func() (ok bool) {
		var err error
		one, err = pgx.ConnectConfig(t.Context(), b.ours.Config().ConnConfig)
		return err == nil
	}, 2*time.Minute, time.Millisecond, "one is left")
	_, err := pgx.ConnectConfig(t.Context(), b.ours.Config().ConnConfig)
	require.Equal(t, "53300", code(err))
	require.NoError(t, one.Close(t.Context()))
	require.NoError(t, struck.Heal(t.Context()))
	require.Eventually(t, func() bool {
		var left int
		err := b.ours.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hookstorm'").Scan(&left)
		return err == nil && left <= 2
	}, 2*time.Minute, time.Millisecond)
}
