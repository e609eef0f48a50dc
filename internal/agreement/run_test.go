package agreement

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func poolOf(t *testing.T, config *pgxpool.Config) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// text returns a row as name=value pairs.
func text(row Row) string {
	var values []string
	for _, c := range row {
		value := "NULL"
		if c.Value != nil {
			value = *c.Value
		}
		values = append(values, c.Name+"="+value)
	}
	return strings.Join(values, " ")
}

func TestRowsAreWhatIsWrong(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `
		CREATE TABLE orders (id text, total numeric);
		INSERT INTO orders VALUES ('o_1', 12.50), ('o_2', NULL);`)
	require.NoError(t, err)
	for sql, want := range map[string][]string{
		`SELECT id, total FROM orders ORDER BY id`:                   {"id=o_1 total=12.50", "id=o_2 total=NULL"},
		`SELECT id, total AS id FROM orders WHERE total > 1; `:       {"id=o_1 id=12.50"},
		`SELECT id FROM orders WHERE false`:                          nil,
		`WITH one AS (SELECT 1 AS n) TABLE one -- all of it`:         {"n=1"},
		`VALUES ('a b'::text, ARRAY[1, 2], '{"a": 1}'::jsonb, true)`: {`column1=a b column2={1,2} column3={"a": 1} column4=true`},
		`SELECT repeat('x', 300) AS long`:                            {"long=" + strings.Repeat("x", 200)},
		`SELECT current_setting('search_path') AS path`:              {"path=public, pg_temp"},
	} {
		t.Run(sql, func(t *testing.T) {
			t.Parallel()
			check := Check{Name: "orders", SQL: sql}
			require.NoError(t, check.Validate())
			found, err := Run(t.Context(), pool, check)
			require.NoError(t, err)
			var got []string
			for _, row := range found.Rows {
				got = append(got, text(row))
			}
			require.Equal(t, want, got)
			require.Equal(t, len(want), found.Count)
			require.False(t, found.More)
		})
	}
}

func TestRowsAreCountedUpToABound(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	for rows, want := range map[string]Found{
		"20":   {Count: 20},
		"1000": {Count: 1000},
		"1001": {Count: 1000, More: true},
	} {
		found, err := Run(t.Context(), pool, Check{Name: "many", SQL: `SELECT n FROM generate_series(1, ` + rows + `) AS n`})
		require.NoError(t, err)
		require.Len(t, found.Rows, MaxShown)
		found.Rows = nil
		require.Equal(t, want, found, rows)
	}
}

// A text that is not a single read-only query is refused, and the table keeps its row.
func TestAQueryIsNothingButAQuery(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `
		CREATE TABLE orders (id text);
		INSERT INTO orders VALUES ('o_1');
		CREATE SEQUENCE numbers;
		CREATE FUNCTION forget() RETURNS text LANGUAGE plpgsql AS $$
			BEGIN
				PERFORM set_config('transaction_read_only', 'off', true);
				DELETE FROM orders;
				RETURN 'gone';
			END $$;
		CREATE FUNCTION forget_it_all() RETURNS text LANGUAGE plpgsql AS $$
			BEGIN
				DELETE FROM orders;
				RETURN 'gone';
			END $$;`)
	require.NoError(t, err)
	for sql, want := range map[string]string{
		`DELETE FROM orders RETURNING id`:                                    `syntax error at or near "FROM"`,
		`WITH gone AS (DELETE FROM orders RETURNING id) SELECT * FROM gone`:  `WITH clause containing a data-modifying statement must be at the top level (SQLSTATE 0A000)`,
		`SELECT 1; DELETE FROM orders`:                                       `syntax error at or near ";"`,
		`SELECT 1) AS finding; DELETE FROM orders; --`:                       `syntax error at or near ")"`,
		`SELECT id FROM orders) AS a; SELECT id FROM (SELECT id FROM orders`: `cannot insert multiple commands into a prepared statement`,
		`COPY orders TO STDOUT`:                                              `syntax error at or near "TO"`,
		`SELECT 'x' AS a INTO copied`:                                        `SELECT ... INTO is not allowed here (SQLSTATE 42601)`,
		`SELECT id FROM orders FOR UPDATE`:                                   `cannot execute SELECT FOR UPDATE in a read-only transaction (SQLSTATE 25006)`,
		`SELECT forget_it_all()`:                                             `cannot execute DELETE in a read-only transaction (SQLSTATE 25006)`,
		`SELECT forget()`:                                                    `transaction read-write mode must be set before any query (SQLSTATE 25001)`,
		`SELECT nextval('numbers')`:                                          `cannot execute nextval() in a read-only transaction (SQLSTATE 25006)`,
		`SELECT set_config('transaction_read_only', 'off', false)`:           `transaction read-write mode must be set before any query (SQLSTATE 25001)`,
		`SELECT FROM orders`:                                                 `it returns no columns, so a row would show nothing`,
		`SELECT n FROM nowhere`:                                              `relation "nowhere" does not exist (SQLSTATE 42P01)`,
		`SELECT 1 / (SELECT count(*) - 1 FROM orders)`:                       `division by zero (SQLSTATE 22012)`,
		`SELECT id FROM orders WHERE id = $1`:                                `bind message supplies 0 parameters`,
	} {
		t.Run(sql, func(t *testing.T) {
			t.Parallel()
			found, err := Run(t.Context(), pool, Check{Name: "orders", SQL: sql})
			var refused *RefusedError
			require.ErrorAs(t, err, &refused, "%+v", found)
			require.ErrorContains(t, refused, want)
			var orders int
			require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM orders`).Scan(&orders))
			require.Equal(t, 1, orders)
		})
	}
}

// A check leaves no session lock, which would outlive the transaction, and no setting, which
// could affect the next user of the connection.
func TestAQueryLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.MaxConns(1))
	_, err := Run(t.Context(), pool, Check{Name: "lock", SQL: `SELECT pg_advisory_lock(7), set_config('hooklatch.left', 'behind', false)`})
	require.NoError(t, err)
	var locks int
	var setting *string
	require.Eventually(t, func() bool { // the server notices a closed connection a moment later
		require.NoError(t, pool.QueryRow(t.Context(),
			`SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&locks))
		return locks == 0
	}, 2*time.Minute, 5*time.Millisecond)
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT current_setting('hooklatch.left', true)`).Scan(&setting))
	require.Nil(t, setting)
}

func TestAQueryCannotEscapeItsTimeout(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	for _, sql := range []string{
		`SELECT pg_sleep(3600)`,
		`SELECT set_config('statement_timeout', '0', false), pg_sleep(3600)`,
		`WITH none AS MATERIALIZED (SELECT set_config('statement_timeout', '0', true)) SELECT *, pg_sleep(3600) FROM none`,
	} {
		t.Run(sql, func(t *testing.T) {
			t.Parallel()
			conn, err := pool.Acquire(t.Context())
			require.NoError(t, err)
			defer conn.Release()
			_, err = run(t.Context(), conn.Conn(), sql, 100*time.Millisecond)
			var cancelled *pgconn.PgError
			require.ErrorAs(t, err, &cancelled)
			require.Contains(t, messageOf(cancelled), "it was cancelled after 10s, the limit")
		})
	}
}

// A pool may be set to the simple protocol, which accepts several statements. Run still refuses
// them.
func TestAQueryIsOneStatementWhateverThePoolIsSetTo(t *testing.T) {
	t.Parallel()
	config := pgtest.New(t).Config()
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	pool := poolOf(t, config)
	found, err := Run(t.Context(), pool, Check{Name: "one", SQL: `SELECT 1 AS n`})
	require.NoError(t, err)
	require.Equal(t, "n=1", text(found.Rows[0]))
	_, err = Run(t.Context(), pool, Check{Name: "two", SQL: `SELECT 1) AS finding; CREATE TABLE left_behind AS SELECT (1`})
	require.ErrorContains(t, err, "cannot insert multiple commands into a prepared statement")
}

func TestAnErrorOfTheConnectionIsNotTheChecks(t *testing.T) {
	t.Parallel()
	config := pgtest.New(t).Config()
	config.ConnConfig.Port = 1 // no server listens there
	config.ConnConfig.Fallbacks = nil
	_, err := Run(t.Context(), poolOf(t, config), Check{Name: "away", SQL: `SELECT 1`})
	require.ErrorContains(t, err, `run check "away": `)
	var refused *RefusedError
	require.NotErrorAs(t, err, &refused)
}
