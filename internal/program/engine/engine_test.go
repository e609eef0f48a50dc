package engine

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/pgbouncer"
	"github.com/hooklatch/hooklatch/internal/pgwire"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// planted is a server without one capability, with the expected result of Check.
type planted struct {
	capability string
	lie        lie
	seen       string
}

// replaced returns a lie that replaces texts in each statement before the server executes it.
func replaced(pairs ...string) lie {
	return lie{statement: func(sql string, _ bool) string { return strings.NewReplacer(pairs...).Replace(sql) }}
}

// instead returns a lie that replaces one whole statement with another.
func instead(sent, done string) lie {
	return lie{statement: func(sql string, _ bool) string {
		if sql == sent {
			return done
		}
		return sql
	}}
}

// servers contains, for every capability, at least one server without it.
var servers = []planted{
	{"commit", lie{statement: instead("COMMIT", "ROLLBACK").statement, answer: alwaysCommitted}, "sees after COMMIT: 0 instead of 1"},
	{"commit", instead("ROLLBACK", "COMMIT"), "sees after ROLLBACK: 2 instead of 1"},
	{"failed_commit", lie{answer: alwaysCommitted}, "reported success"},
	{"insert_once", replaced("(key text PRIMARY KEY)", "(key text)"), "did not fail: INSERT"},
	{"insert_once", replaced(" ON CONFLICT DO NOTHING", ""), "after COMMIT of the first: ERROR: duplicate key"},
	{"insert_once", instead("ROLLBACK", "COMMIT"), "after ROLLBACK of the first: no rows"},
	{"read_committed", replaced("READ COMMITTED", "REPEATABLE READ"), "COMMIT: 'open' instead of 'seen'"},
	{"read_committed", replaced(" WHERE state = 'seen'", ""), "no longer matches: <nil> instead of no rows"},
	{"skip_locked", replaced(" SKIP LOCKED", ""), "canceling statement due to lock timeout"},
	{"skip_locked", replaced("FOR UPDATE SKIP LOCKED", ""), "others are locked: 1 instead of 2"},
	{"locks", replaced("pg_try_advisory_xact_lock(", "0 <> abs("), "two sessions held the same lock"},
	{"locks", replaced("pg_advisory_xact_lock(", "abs("), "did not fail: SELECT pg_advisory_xact_lock"},
	{"locks", replaced("SELECT pg_advisory_xact_lock(", "SELECT pg_advisory_lock("), "canceling statement due to lock timeout"},
	{"limits", replaced("', true)", "', false)"), "limits after the transaction: 200ms"},
	{"limits", replaced("set_config('lock_timeout'", "set_config('hooklatch.nothing'"), "failed with an error other than 55P03: ERROR: canceling statement due to statement timeout"},
	{"limits", replaced("set_config('statement_timeout', '100'", "set_config('hooklatch.nothing', ''", "'5000'", "'60000'"), "did not fail: SELECT pg_sleep(2)"},
	{"idle_limit", replaced("idle_in_transaction_session_timeout", "hooklatch.nothing"), "canceling statement due to lock timeout"},
	{"savepoints", replaced("ROLLBACK TO SAVEPOINT one", "SELECT 1"), "current transaction is aborted"},
	{"savepoints", replaced("ROLLBACK TO SAVEPOINT one", "ROLLBACK; BEGIN; SAVEPOINT one"), "rows: 3 instead of 1 3"},
	{"pipeline", lie{statement: func(sql string, extended bool) string {
		if extended && sql == begin {
			return "SELECT 1"
		}
		return sql
	}}, "lock_timeout: 0 instead of 200ms"},
	{"ddl", instead("ROLLBACK", "COMMIT"), "rolled back is gone: false"},
	{"partitions", replaced("PARTITION BY RANGE (at)", ""), `"t_days"`},
	{"partitions", replaced("VALUES ('2026-01-03 00:00Z'", "VALUES ('2026-01-02 00:00Z'"), "did not fail: INSERT"},
	{"partitions", replaced("ALTER TABLE", "SELECT 1; --"), "no partition of relation"},
	{"detach_concurrently", replaced(" CONCURRENTLY", " CONCURRENT"), "syntax error"},
	{"detach_concurrently", lie{statement: func(sql string, _ bool) string {
		if strings.HasSuffix(sql, " CONCURRENTLY") {
			return "SELECT 1"
		}
		return sql
	}}, `first day: \x01 \x02 instead of \x02`},
	{"concurrent_index", replaced("CREATE INDEX CONCURRENTLY", "SELECT 1 --"), "the index is valid: false"},
	{"partial_index", replaced("(key) WHERE live", "(key)"), "duplicate key"},
	{"partial_index", replaced(" RETURNING xmax <> 0", " RETURNING false"), "existing one: false instead of true"},
	{"triggers", replaced("WHEN (OLD.state", "WHEN (false AND OLD.state"), "did not fail: UPDATE"},
	{"triggers", replaced("FOR EACH STATEMENT", "FOR EACH STATEMENT WHEN (false)"), "recorded: nothing"},
	{"triggers", replaced("REFERENCING OLD TABLE AS before NEW TABLE AS after", ""), `relation "before" does not exist`},
	{"bodies", lie{answer: changedEnd}, "the stored bytes are the sent ones: false"},
	{"bodies", replaced("SELECT body", "SELECT substr(body, 1, 65536)"), "stored bytes: 65536"},
	{"texts", replaced("SELECT plain", "SELECT left(plain, 1000)"), "stored bytes of text in plain: "},
	{"texts", replaced("12345678901234567890.5", "12345678901234567890.0"), "JSON keeps all digits: false"},
	{"times", replaced("(at timestamptz)", "(at timestamptz(3))"), "stored time: 2026-03-29 23:59:59.123+00"},
	{"times", replaced("(at timestamptz)", "(at timestamp)"), "stored time: 2026-03-30"},
	{"times", replaced("now()", "clock_timestamp()"), "start of the transaction: false"},
	{"sequences", replaced("AS bigint", "AS bigint CACHE 100"), "before it: false"},
	{"standby_wait", replaced("emit_message(true", "emit_message(false"), "one that writes: false"},
	{"listen", replaced("LISTEN ", "SELECT 1 --"), "within 3 seconds: nothing"},
	{"listen", replaced("SELECT pg_notify(", "SELECT concat("), "within 3 seconds: nothing"},
	{"listen", instead("ROLLBACK", "COMMIT"), "ROLLBACK instead of"},
	{"listen", replaced("', 'COMMIT')", "', 'COMMIT'); COMMIT"), "notified before COMMIT: COMMIT"},
	{"session_locks", replaced("pg_try_advisory_lock(", "0 <> abs("), "two sessions held the same lock"},
	{"session_locks", replaced("pg_advisory_unlock(", "0 > abs("), "still has its lock: false"},
	{"session_locks", replaced("pg_advisory_lock(", "pg_advisory_xact_lock("), "two sessions held the same lock"},
	{"prepared_statements", replaced("SELECT $1::integer", "SELECT 1 + $1::integer"), "prepared statement: 8 instead of 7"},
	{"activity", replaced("FROM pg_stat_activity", "FROM (SELECT pid, 'hidden' AS state FROM pg_stat_activity) AS a"), "role: hidden instead of"},
	{"activity", replaced("pg_terminate_backend(", "0 > abs("), "can be ended: false"},
	{"server_identity", replaced("pg_control_system()", "pg_no_such_system()"), "pg_no_such_system() does not exist"},
	{"server_identity", replaced("pg_walfile_name(", "pg_no_such_name("), "pg_no_such_name(pg_lsn) does not exist"},
	{"migrations", replaced("REFERENCING OLD TABLE", "REFERENCE OLD TABLE"), "0006_transitions: ERROR: syntax error"},
	{"accept", replaced("ON CONFLICT (source, event_id) DO NOTHING", "ON CONFLICT (source, event_id) DO UPDATE SET duplicates = 0"), "was accepted: 2 instead of 1"},
	{"jobs", replaced("state = 'running',", "state = 'scheduled',"), "completed job: scheduled"},
}

// alwaysCommitted replaces the server's report that a transaction was rolled back with COMMIT.
func alwaysCommitted(m pgwire.Message) pgwire.Message {
	if m.Type() != 'C' || string(m.Body()) != "ROLLBACK\x00" {
		return m
	}
	return pgwire.Message("C\x00\x00\x00\x0bCOMMIT\x00")
}

// changedEnd changes the last byte of long rows.
func changedEnd(m pgwire.Message) pgwire.Message {
	if m.Type() == 'D' && len(m) > 1<<20 {
		m[len(m)-1] ^= 1
	}
	return m
}

// checked tries capabilities of a server, and returns the findings by the names of their checks.
func checked(t *testing.T, pool *pgxpool.Pool, wanted []capability) map[string]doctor.Finding {
	t.Helper()
	found, err := check(t.Context(), pool, wanted)
	require.NoError(t, err)
	byName := map[string]doctor.Finding{}
	for _, one := range found {
		byName[one.Check] = one
	}
	require.Empty(t, schemas(t, pool), "the check leaves no schema")
	return byName
}

func schemas(t *testing.T, pool *pgxpool.Pool) []string {
	t.Helper()
	rows, err := pool.Query(context.WithoutCancel(t.Context()), "SELECT nspname::text FROM pg_namespace WHERE nspname LIKE 'hooklatch%' ORDER BY 1", pgx.QueryExecModeExec)
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return names
}

func TestPostgresHasEveryCapability(t *testing.T) {
	t.Parallel()
	found := checked(t, pgtest.New(t, pgtest.Empty(), pgtest.Durable()), capabilities())
	for name, one := range found {
		require.Equal(t, doctor.OK, one.Level, "%s: %s", name, one.Message)
	}
	for _, one := range capabilities() {
		require.Equal(t, one.works, found[one.name].Message)
	}
	require.Contains(t, found, doctor.CheckDurability)
}

func TestEveryIncapableServerIsFound(t *testing.T) {
	t.Parallel()
	missing := map[string]bool{}
	for _, one := range servers {
		missing[one.capability] = true
		t.Run(one.capability+": "+one.seen, func(t *testing.T) {
			t.Parallel()
			all := capabilities()
			lacking := all[slices.IndexFunc(all, func(c capability) bool { return c.name == one.capability })]
			wanted := slices.DeleteFunc(all, func(c capability) bool {
				return c.name != one.capability && (c.name != "migrations" || !lacking.own) // the other experiments need the tables of migrations
			})
			found := checked(t, one.lie.pool(t, pgtest.New(t, pgtest.Empty()).Config()), wanted)[one.capability]
			require.Contains(t, found.Message, one.seen)
			require.Contains(t, found.Message, "; without this, "+lacking.without)
			if lacking.substitute == "" {
				require.Equal(t, doctor.Problem, found.Level)
				require.Equal(t, unsuitable, found.Fix)
			} else {
				require.Equal(t, doctor.Warning, found.Level)
				require.Equal(t, "optional: "+lacking.substitute, found.Fix)
			}
		})
	}
	var optional []string
	for _, one := range capabilities() {
		require.True(t, missing[one.name], "plant a server without %s", one.name)
		if one.substitute != "" {
			optional = append(optional, one.name)
		}
	}
	require.Equal(t, []string{"detach_concurrently", "sequences", "listen", "session_locks", "prepared_statements", "activity", "server_identity"}, optional)
}

func TestATransactionPoolerLacksOnlyWhatHasASubstitute(t *testing.T) {
	t.Parallel()
	pooled, err := pgxpool.ParseConfig(pgbouncer.Start(t, pgtest.URL(t, pgtest.New(t, pgtest.Empty(), pgtest.Durable()))))
	require.NoError(t, err)
	pooled.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	pool, err := pgxpool.NewWithConfig(t.Context(), pooled)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	var lacks []string
	for name, one := range checked(t, pool, capabilities()) {
		require.NotEqual(t, doctor.Problem, one.Level, "%s: %s", name, one.Message)
		if one.Level == doctor.Warning {
			lacks = append(lacks, name)
		}
	}
	require.ElementsMatch(t, []string{"pooler", "listen", "session_locks", "prepared_statements", "migrations", "accept", "jobs"}, lacks)
}

func TestASchemaIsDroppedAfterACheckWasStopped(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Empty())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stopping := capability{name: "stopping", try: func(t *trial) {
		s := t.open("CREATE TABLE hooklatch.t_stopping (n integer)")
		cancel()
		s.run("SELECT pg_sleep(60)")
	}}
	found, err := check(ctx, pool, append([]capability{stopping}, capabilities()...))
	require.ErrorIs(t, err, context.Canceled)
	require.NotContains(t, []string{"stopping", "commit"}, found[len(found)-1].Check, "an experiment without a result is not reported")
	require.Empty(t, schemas(t, pool))
}

func TestAnExperimentThatTakesTooLongIsNotBlamedOnTheServer(t *testing.T) {
	t.Parallel()
	slow := capability{name: "slow", without: "nothing works", try: func(t *trial) { t.require(fmt.Errorf("query: %w", context.DeadlineExceeded)) }}
	found := checked(t, pgtest.New(t, pgtest.Empty()), []capability{slow})["slow"]
	require.Equal(t, doctor.Finding{Level: doctor.Problem, Check: "slow", Message: "no result in time; without this, nothing works", Fix: busy}, found)
}

func TestASchemaOfAKilledCheckIsDroppedLater(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	for _, name := range []string{"hooklatch_engine_20260101000000_killed", "hooklatch_engine_29990101000000_running"} {
		_, err := pool.Exec(t.Context(), "CREATE SCHEMA "+name+"; CREATE TABLE "+name+".t (n integer); COMMENT ON SCHEMA "+name+" IS '"+marked+"'")
		require.NoError(t, err)
	}
	_, err := pool.Exec(t.Context(), "CREATE SCHEMA hooklatch_engine_20260101000000_unmarked")
	require.NoError(t, err)
	_, err = check(t.Context(), pool, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"hooklatch", "hooklatch_engine_20260101000000_unmarked", "hooklatch_engine_29990101000000_running"}, schemas(t, pool))
}

func TestARoleThatMustNotCreateASchemaIsToldWhatToDo(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	role := "engine_reader_" + strings.ToLower(rand.Text()) // roles belong to the server, not to the database
	_, err := pool.Exec(t.Context(), "CREATE ROLE "+role+" LOGIN PASSWORD 'secret'")
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = pool.Exec(context.WithoutCancel(t.Context()), "DROP ROLE "+role) })
	config := pool.Config()
	config.ConnConfig.User, config.ConnConfig.Password = role, "secret"
	reader, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(reader.Close)
	_, err = Check(t.Context(), reader)
	require.ErrorContains(t, err, `the role "`+role+`" may not create a schema in database "`+config.ConnConfig.Database+`": run GRANT CREATE ON DATABASE`)
	_, err = pool.Exec(t.Context(), "ALTER ROLE "+role+" SET default_transaction_read_only = on")
	require.NoError(t, err)
	reader.Reset()
	_, err = Check(t.Context(), reader)
	require.ErrorContains(t, err, "the server accepts no writes: use the address of the primary")
}
