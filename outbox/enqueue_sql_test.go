package outbox

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// psql runs statements as the program psql does, one after another in the simple protocol.
func psql(t *testing.T, pool *pgxpool.Pool, script string) error {
	t.Helper()
	conn, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	_, err = conn.Conn().PgConn().Exec(t.Context(), script).ReadAll()
	return err
}

func TestEnqueueInSQL(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app", Policy: ledger.AtMostOnce})
	require.NoError(t, psql(t, b.pool, `BEGIN; SELECT hooklatch.enqueue('app', 'order-1', '{"n":1}'); ROLLBACK`))
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.effects`), "a rolled-back call enqueues nothing")
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.river_job`))

	enqueue := func(call string) (created bool) {
		require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT hooklatch.`+call).Scan(&created))
		return created
	}
	require.True(t, enqueue(`enqueue('app', 'order-1', '{"n":1}')`))
	require.False(t, enqueue(`enqueue('app', 'order-1', '{"n":2}')`), "the second call with the same key enqueues nothing")
	require.True(t, enqueue(`enqueue_bytes('app', 'order-2', '\x00ff', headers => '{"X-One":"1","X-Two":["2","3"]}')`))
	require.Equal(t, 2, b.count(t, `SELECT count(*) FROM hooklatch.effects`))
	require.Equal(t, 2, b.count(t, `SELECT count(*) FROM hooklatch.river_job`))

	first := b.granted(t, identity.EffectID{Scope: identity.ScopeOfEnqueue("app"), Key: "order-1", Generation: 1}, lease)
	require.JSONEq(t, `{"n":1}`, string(first.Request.Body))
	require.Equal(t, "application/json", first.Request.ContentType)
	require.Equal(t, ledger.AtMostOnce, first.Policy)
	second := b.granted(t, identity.EffectID{Scope: identity.ScopeOfEnqueue("app"), Key: "order-2", Generation: 1}, lease)
	require.Equal(t, []byte{0, 255}, second.Request.Body)
	require.Equal(t, map[string][]string{"X-One": {"1"}, "X-Two": {"2", "3"}}, second.Request.Headers)
	require.Equal(t, "application/octet-stream", second.Request.ContentType)
}

func TestEnqueueInSQLRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app"})
	for call, want := range map[string]string{
		`enqueue('nowhere', 'k', '{}')`:                        "unknown destination 'nowhere'",
		`enqueue(NULL, 'k', '{}')`:                             "unknown destination NULL",
		`enqueue('app', '', '{}')`:                             "1 to 255 bytes",
		`enqueue('app', NULL, '{}')`:                           "1 to 255 bytes",
		`enqueue('app', repeat('ä', 128), '{}')`:               "1 to 255 bytes",
		`enqueue('app', 'k', NULL)`:                            "body must not be NULL",
		`enqueue('app', 'k', '{}', '[]')`:                      "headers must be a JSON object, not array",
		`enqueue('app', 'k', '{}', '{"X":1}')`:                 "header 'X' must be a string",
		`enqueue('app', 'k', '{}', '{"X":[["a"]]}')`:           "header 'X' must be a string",
		`enqueue('app', 'k', '{}', '{"X":["a",null]}')`:        "header 'X' must be a string",
		`enqueue_bytes('app', 'k', NULL::bytea, 'text/plain')`: "body must not be NULL",
	} {
		_, err := b.pool.Exec(t.Context(), `SELECT hooklatch.`+call)
		require.ErrorContains(t, err, want, call)
	}
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.effects`))
}

// columnsOf returns the columns of a query's single row by name. It omits the columns that the last
// argument names: they differ even between equal effects.
func (b *bundle) columnsOf(t *testing.T, query string, but ...string) map[string]any {
	t.Helper()
	rows, err := b.pool.Query(t.Context(), query)
	require.NoError(t, err)
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToMap)
	require.NoError(t, err)
	for _, column := range but {
		require.Contains(t, row, column)
		delete(row, column)
	}
	return row
}

// An application that enqueues in SQL gets the same effect and the same River job as with
// EnqueueTx. All columns are equal, except times and the job's id.
func TestEnqueueInSQLIsEnqueueTx(t *testing.T) {
	t.Parallel()
	for i, name := range []string{"app", "Straße 9.", strings.Repeat("long", 20)} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			viaGo, viaSQL := setup(t, func(o *Options) { o.ConsoleURL = "" }), setup(t)
			for _, b := range []*bundle{viaGo, viaSQL} {
				b.register(t, fleet.Destination{Name: name, Kind: "http", Queue: "dst_app"})
			}
			const key, body = "bestellung-äöü-☃", `{"a": [1, 2.50], "b": null}`
			require.NoError(t, pgx.BeginFunc(t.Context(), viaGo.pool, func(tx pgx.Tx) error {
				_, err := viaGo.EnqueueTx(t.Context(), tx, Enqueue{
					Key: key, Destination: name,
					Request: ledger.Request{ContentType: "application/json", Body: []byte(body), Headers: map[string][]string{"X-A": {"b"}}},
				})
				return err
			}))
			_, err := viaSQL.pool.Exec(t.Context(), `SELECT hooklatch.enqueue($1, $2, $3::jsonb, '{"X-A":"b"}')`, name, key, body)
			require.NoError(t, err)
			const effect = `SELECT * FROM hooklatch.effects`
			require.Equal(t, viaGo.columnsOf(t, effect, "created_at", "next_attempt_at"), viaSQL.columnsOf(t, effect, "created_at", "next_attempt_at"))
			const job = `SELECT *, unique_states::text AS states FROM hooklatch.river_job`
			require.Equal(t, viaGo.columnsOf(t, job, "id", "created_at", "scheduled_at"), viaSQL.columnsOf(t, job, "id", "created_at", "scheduled_at"))
		})
	}
}

func TestIdempotencyKeyInSQL(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, id := range []identity.EffectID{
		{Scope: "enqueue:app", Key: "k", Generation: 1},
		{Scope: "route:stripe:r", Key: "äöü☃", Generation: 12345},
		{Scope: "a", Key: "bc", Generation: 1},
		{Scope: "ab", Key: "c", Generation: 1},
	} {
		var key string
		require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT hooklatch.idempotency_key($1, $2, $3)`, id.Scope, id.Key, id.Generation).Scan(&key))
		require.Equal(t, id.IdempotencyKey(), key)
	}
}

// The role of an application needs two privileges and gets no others.
func TestEnqueueByAnApplicationsRole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app"})
	role := "shop_" + strings.TrimPrefix(identity.EffectID{Scope: identity.Scope(pgtest.URL(t, b.pool))}.IdempotencyKey(), "hl_")
	run := func(script string) error { return psql(t, b.pool, script) }
	require.NoError(t, run(`CREATE ROLE `+role+`; GRANT USAGE ON SCHEMA hooklatch TO `+role))
	t.Cleanup(func() {
		if _, err := b.pool.Exec(context.Background(), `DROP OWNED BY `+role+`; DROP ROLE `+role); err != nil {
			t.Logf("drop role: %v", err)
		}
	})
	const call = `SELECT hooklatch.enqueue('app', 'k', '{}')`
	as := func(script string) error { return run(`BEGIN; SET LOCAL ROLE ` + role + `; ` + script + `; COMMIT`) }
	var pg *pgconn.PgError
	require.ErrorAs(t, as(call), &pg)
	require.Equal(t, "42501", pg.Code)
	require.NoError(t, run(`GRANT EXECUTE ON FUNCTION hooklatch.enqueue(text, text, jsonb, jsonb) TO `+role))
	require.NoError(t, as(call))
	require.ErrorAs(t, as(`DELETE FROM hooklatch.effects`), &pg)
	require.Equal(t, "42501", pg.Code)
	// Objects in the caller's search_path must not shadow objects that enqueue uses.
	require.NoError(t, run(`CREATE SCHEMA evil; CREATE FUNCTION evil.sha256(bytea) RETURNS bytea LANGUAGE sql AS 'SELECT NULL::bytea'; GRANT USAGE ON SCHEMA evil TO `+role))
	require.NoError(t, as(`SET LOCAL search_path = evil, pg_catalog; SELECT hooklatch.enqueue('app', 'k2', '{}')`))
	require.Equal(t, 2, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE idempotency_key LIKE 'hl\_%'`))
}
