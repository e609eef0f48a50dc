package schema_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func newMigrator(t *testing.T, pool *pgxpool.Pool, name schema.Name) *schema.Migrator {
	t.Helper()
	migrator, err := schema.NewMigrator(pool, name, nil)
	require.NoError(t, err)
	return migrator
}

// count returns the number in the only field of a query's result.
func count(t *testing.T, pool *pgxpool.Pool, query string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), query, args...).Scan(&n))
	return n
}

// leftovers counts the schemas other than Postgres's own and public, and the objects in schemas
// other than Postgres's own.
func leftovers(t *testing.T, pool *pgxpool.Pool) int {
	t.Helper()
	return count(t, pool, `
		WITH ours AS (SELECT oid, nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema$)')
		SELECT (SELECT count(*) FROM pg_class WHERE relnamespace IN (SELECT oid FROM ours))
		     + (SELECT count(*) FROM pg_proc WHERE pronamespace IN (SELECT oid FROM ours))
		     + (SELECT count(*) FROM pg_type WHERE typnamespace IN (SELECT oid FROM ours))
		     + (SELECT count(*) FROM ours WHERE nspname <> 'public')`)
}

func TestUpDownUp(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Empty())
	migrator := newMigrator(t, pool, "")
	require.Zero(t, leftovers(t, pool))

	for range 2 {
		status, err := migrator.Status(t.Context())
		require.NoError(t, err)
		require.Equal(t, -1, status.DaysAhead)
		require.Zero(t, status.River.Present)
		require.ErrorContains(t, migrator.Validate(t.Context()), `schema "hooklatch" is not ready: migration 0001_inbox is pending; `)
		require.ErrorContains(t, migrator.Validate(t.Context()), "; run: hooklatch migrate up")
		require.ErrorIs(t, migrator.Validate(t.Context()), schema.ErrPending)

		steps, err := migrator.Up(t.Context())
		require.NoError(t, err)
		require.Equal(t, schema.OwnerRiver, steps[0].Owner)
		require.Len(t, steps, status.River.Wanted+len(status.Migrations))
		require.NoError(t, migrator.Validate(t.Context()))

		status, err = migrator.Status(t.Context())
		require.NoError(t, err)
		require.Equal(t, schema.DaysAhead, status.DaysAhead)
		require.Equal(t, status.River.Wanted, status.River.Present)
		for _, migration := range status.Migrations {
			require.WithinDuration(t, time.Now(), *migration.AppliedAt, time.Minute)
			require.False(t, migration.Changed)
		}

		steps, err = migrator.Up(t.Context())
		require.NoError(t, err)
		require.Empty(t, steps, "a second up has nothing to do")

		steps, err = migrator.Down(t.Context(), 0)
		require.NoError(t, err)
		require.Len(t, steps, status.River.Wanted+len(status.Migrations))
		require.Zero(t, leftovers(t, pool))
	}
	steps, err := migrator.Down(t.Context(), 0)
	require.NoError(t, err)
	require.Empty(t, steps, "a second down has nothing to do")
}

func TestDownBySteps(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	migrator := newMigrator(t, pool, "")
	before, err := migrator.Status(t.Context())
	require.NoError(t, err)

	steps, err := migrator.Down(t.Context(), 1)
	require.NoError(t, err)
	require.Len(t, steps, 1)
	last := before.Migrations[len(before.Migrations)-1]
	require.Equal(t, last.Version, steps[0].Version)
	require.ErrorContains(t, migrator.Validate(t.Context()), "migration "+last.String()+" is pending; run")

	steps, err = migrator.Down(t.Context(), 99)
	require.NoError(t, err)
	require.Len(t, steps, len(before.Migrations)-1)
	status, err := migrator.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, status.River.Wanted, status.River.Present, "steps counts our migrations; River's tables stay")
	require.Equal(t, 3, count(t, pool, droppedIndexes))

	_, err = migrator.Up(t.Context())
	require.NoError(t, err)
	require.NoError(t, migrator.Validate(t.Context()))
}

func TestDownKeepsWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), "CREATE TABLE hooklatch.of_somebody (n integer)")
	require.NoError(t, err)
	_, err = newMigrator(t, pool, "").Down(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, 1, count(t, pool, "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'hooklatch'"))
}

func TestUpInParallel(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Empty())
	var group errgroup.Group
	for range 8 {
		migrator := newMigrator(t, pool, "")
		group.Go(func() error {
			if _, err := migrator.Up(t.Context()); err != nil {
				return err
			}
			return migrator.Validate(t.Context())
		})
	}
	require.NoError(t, group.Wait())
}

func TestOtherSchemaName(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Empty())
	other := newMigrator(t, pool, "billing_hooks")
	_, err := other.Up(t.Context())
	require.NoError(t, err)
	require.NoError(t, other.Validate(t.Context()))
	require.Zero(t, count(t, pool, "SELECT count(*) FROM pg_namespace WHERE nspname = 'hooklatch'"))
	require.Zero(t, count(t, pool, "SELECT count(*) FROM pg_proc WHERE prosrc LIKE '%hooklatch%'"))
	require.Equal(t, 1, count(t, pool, "SELECT billing_hooks.make_delivery_partitions(15)"))
	require.Zero(t, count(t, pool, "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"))
	require.Zero(t, count(t, pool, droppedIndexes))

	// Two schemas in one database do not affect each other.
	_, err = newMigrator(t, pool, "").Up(t.Context())
	require.NoError(t, err)
	_, err = other.Down(t.Context(), 0)
	require.NoError(t, err)
	require.NoError(t, newMigrator(t, pool, "").Validate(t.Context()))
}

func TestInvalidNameIsRefused(t *testing.T) {
	t.Parallel()
	_, err := schema.NewMigrator(nil, "Robert'); DROP TABLE", nil)
	require.ErrorContains(t, err, "must consist of lower-case letters")
}

// An administrator may give us a schema instead of the right to create one.
func TestUpWithoutTheRightToCreateSchemas(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Empty())
	role := fmt.Sprintf("migrator_%d", time.Now().UnixNano())
	_, err := pool.Exec(t.Context(), "CREATE ROLE "+role+"; CREATE SCHEMA hooklatch AUTHORIZATION "+role)
	require.NoError(t, err)
	t.Cleanup(func() { // roles belong to the server, not to the database
		_, err := pool.Exec(context.Background(), "DROP OWNED BY "+role+" CASCADE; DROP ROLE "+role)
		require.NoError(t, err)
	})
	config, err := pgxpool.ParseConfig(pgtest.URL(t, pool))
	require.NoError(t, err)
	config.ConnConfig.RuntimeParams["role"] = role
	restricted, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer restricted.Close()
	migrator := newMigrator(t, restricted, "")
	_, err = migrator.Up(t.Context())
	require.NoError(t, err)
	require.NoError(t, migrator.Validate(t.Context()))
}

func TestBusyTableEndsUp(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	migrator := newMigrator(t, pool, "")
	status, err := migrator.Status(t.Context())
	require.NoError(t, err)
	const without = 2 // 0003 alters river_job
	_, err = migrator.Down(t.Context(), len(status.Migrations)-without)
	require.NoError(t, err)
	user, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer user.Rollback(t.Context())
	_, err = user.Exec(t.Context(), "SELECT FROM hooklatch.river_job, hooklatch.processed_events, hooklatch.effects")
	require.NoError(t, err)

	migrator.SetPatience(50 * time.Millisecond)
	_, err = migrator.Up(t.Context())
	require.ErrorContains(t, err, "migrate up: a table was in use at each attempt for 50ms")
	require.ErrorContains(t, err, "run the migration again")

	require.NoError(t, user.Rollback(t.Context()))
	migrator.SetPatience(time.Minute) // autovacuum may use a table briefly
	_, err = migrator.Up(t.Context())
	require.NoError(t, err)
}

func TestChangedMigrationIsReported(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	migrator := newMigrator(t, pool, "")
	_, err := pool.Exec(t.Context(), "UPDATE hooklatch.schema_migrations SET checksum = 'other' WHERE version = 2")
	require.NoError(t, err)

	status, err := migrator.Status(t.Context())
	require.NoError(t, err)
	require.True(t, status.Migrations[1].Changed)
	require.False(t, status.Migrations[0].Changed)
	require.ErrorContains(t, migrator.Validate(t.Context()), "migration 0002_ledger differs from the applied migration")
}

func TestMigrationOfNewerProgram(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	migrator := newMigrator(t, pool, "")
	_, err := pool.Exec(t.Context(), "INSERT INTO hooklatch.schema_migrations (version, name, checksum) VALUES (9001, 'future', '')")
	require.NoError(t, err)

	require.NoError(t, migrator.Validate(t.Context()), "a newer schema is valid during a rolling update")
	status, err := migrator.Status(t.Context())
	require.NoError(t, err)
	require.True(t, status.Migrations[len(status.Migrations)-1].Unknown)
	_, err = migrator.Down(t.Context(), 0)
	require.ErrorContains(t, err, "the database has migration 9001_future, which this program does not know")
}

func TestRiverBehind(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	migrator := newMigrator(t, pool, "")
	river, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: "hooklatch"})
	require.NoError(t, err)
	valid, err := river.Validate(t.Context(), nil)
	require.NoError(t, err)
	require.True(t, valid.OK, valid.Messages)

	_, err = river.Migrate(t.Context(), rivermigrate.DirectionDown, &rivermigrate.MigrateOpts{TargetVersion: 6})
	require.NoError(t, err)
	require.ErrorContains(t, migrator.Validate(t.Context()), "River's tables have version 6, but version 8 is required")
	steps, err := migrator.Up(t.Context())
	require.NoError(t, err)
	require.Len(t, steps, 2)
	require.NoError(t, migrator.Validate(t.Context()))
	require.Zero(t, count(t, pool, droppedIndexes))
}

// droppedIndexes counts the River indexes that our migrations drop.
const droppedIndexes = `SELECT count(*) FROM pg_indexes WHERE indexdef LIKE '%river_job USING gin%' OR indexname = 'river_job_kind'`

// River's version 2 mentions the indexes that we drop. Version 6 mentions another index whose
// name begins in the same way.
func TestRiverIndexesAreRestoredForMigrationsThatNameThem(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	migrator := newMigrator(t, pool, "")
	for _, one := range []struct {
		present, last int
		restored      bool
	}{{1, 8, true}, {1, 2, true}, {2, 8, false}, {5, 6, false}, {7, 8, false}} {
		tx, err := pool.Begin(t.Context())
		require.NoError(t, err)
		restored, err := migrator.RestoreRiverIndexes(t.Context(), tx, one.present, one.last)
		require.NoError(t, err)
		require.Equal(t, one.restored, restored, one)
		var found int
		require.NoError(t, tx.QueryRow(t.Context(), droppedIndexes).Scan(&found))
		require.Equal(t, restored, found == 3, one)
		require.NoError(t, tx.Rollback(t.Context()))
	}
}

func TestRiverJobHasTheIndexesThatAreUsedAndIsVacuumedByCount(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	rows, err := pool.Query(t.Context(), "SELECT indexname FROM pg_indexes WHERE schemaname = 'hooklatch' AND tablename = 'river_job' ORDER BY indexname")
	require.NoError(t, err)
	indexes, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{
		"river_job_pkey", "river_job_prioritized_fetching_index",
		"river_job_state_and_finalized_at_index", "river_job_unique_idx",
	}, indexes)
	require.Equal(t, 1, count(t, pool, "SELECT count(*) FROM pg_class WHERE oid = 'hooklatch.river_job'::regclass AND 'autovacuum_vacuum_threshold=5000' = ANY (reloptions)"))
}

// A role's or database's settings may suit an application but not a migration.
func TestSettingsOfTheRoleDoNotMatter(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Empty())
	config, err := pgxpool.ParseConfig(pgtest.URL(t, pool))
	require.NoError(t, err)
	config.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
	config.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	config.ConnConfig.RuntimeParams["lock_timeout"] = "50ms"
	odd, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer odd.Close()

	holder := holdMigrations(t, pool)
	done := make(chan error, 1)
	migrator := newMigrator(t, odd, "")
	go func() {
		_, err := migrator.Up(t.Context())
		done <- err
	}()
	waitForLock(t, pool)
	_, err = holder.Exec(t.Context(), "SELECT pg_sleep(0.1)") // longer than the role's lock_timeout
	require.NoError(t, err)
	require.NoError(t, holder.Rollback(t.Context()))
	require.NoError(t, <-done)
}

func TestUpEndsWithItsContext(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Empty())
	holder := holdMigrations(t, pool)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	migrator := newMigrator(t, pool, "")
	go func() {
		_, err := migrator.Up(ctx)
		done <- err
	}()
	waitForLock(t, pool)
	cancel()
	err := <-done
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "migrate up: wait for another migration")
	require.NoError(t, holder.Rollback(t.Context()))
}

// holdMigrations takes the migration lock, and returns the transaction that holds it.
func holdMigrations(t *testing.T, pool *pgxpool.Pool) pgx.Tx {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT pg_advisory_xact_lock(hashtextextended('hooklatch.migrate', 0))")
	require.NoError(t, err)
	return tx
}

// waitForLock returns when a connection waits for an advisory lock.
func waitForLock(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	require.Eventually(t, func() bool {
		var waiting int
		err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&waiting)
		return err == nil && waiting == 1
	}, 2*time.Minute, 5*time.Millisecond)
}
