package schema_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// extremes lists arguments at the ends of each type's range, as SQL. The uuid is the delivery id of
// an event that fillEvents creates.
var extremes = map[string][]string{
	"integer":                  {"-2147483648", "2147483647", "NULL"},
	"bigint":                   {"-9223372036854775808", "9223372036854775807", "10001", "7"},
	"date":                     {"'-infinity'", "'infinity'", "'1000-01-01'"},
	"timestamp with time zone": {"'-infinity'", "'infinity'", "NULL", "'2026-01-01'::timestamptz + interval '7 seconds'"},
	"uuid":                     {"'00000000-0000-0000-0000-000000000007'"},
	"text":                     {"''", "'deliveries'"},
	"text[]":                   {"'{}'", "'{deliveries,attempts,transitions,links}'"},
	"integer[]":                {"'{}'", "(SELECT array_agg(n) FROM generate_series(0, 99999) AS n)"},
	"bigint[]":                 {"'{}'", "(SELECT array_agg(n) FROM generate_series(1000000, 1100000) AS n)"},
	"bytea":                    {`'\x'`},
	"boolean":                  {"true", "false"},
	"jsonb":                    {"'{}'", "(SELECT jsonb_object_agg('x-' || n, 'a') FROM generate_series(1, 200000) AS n)"},
}

// fillEvents creates many events, each with its own delivery id. It stores no deliveries.
func fillEvents(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	_, err := pool.Exec(t.Context(), `
		INSERT INTO hooklatch.processed_events (source, event_id, accept_seq, acceptance_id, provider, event_type, received_at, delivery_id, payload_hash, queue, outcome)
		SELECT 's', 'evt_' || n, n + 0, gen_random_uuid(), 'p', 't', '2026-01-01'::timestamptz + n * interval '1 second', lpad(n::text, 32, '0')::uuid, '', 'q', 'skipped'
		FROM generate_series(1, 20000) AS n`)
	require.NoError(t, err)
}

// A role must not be able to keep the server busy through the arguments of a function. The test
// calls each function with each combination of extremes, and requires that the function refuses the
// call or reads few rows.
func TestFunctionsDoBoundedWork(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	fillEvents(t, pool)
	rows, err := pool.Query(t.Context(), `
		SELECT p.proname, ARRAY(SELECT format_type(a.type, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY AS a (type, n) ORDER BY a.n)
		FROM pg_proc AS p
		WHERE p.pronamespace = 'hooklatch'::regnamespace AND p.prorettype <> 'trigger'::regtype AND p.proname NOT LIKE 'river%'
		ORDER BY p.proname`)
	require.NoError(t, err)
	type function struct {
		Name string
		Args []string
	}
	functions, err := pgx.CollectRows(rows, pgx.RowToStructByPos[function])
	require.NoError(t, err)
	require.Greater(t, len(functions), 15)
	for _, f := range functions {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			calls := []string{""}
			for _, kind := range f.Args {
				require.NotEmpty(t, extremes[kind], "no extremes of type %s", kind)
				var more []string
				for _, call := range calls {
					for _, value := range extremes[kind] {
						more = append(more, call+fmt.Sprintf(", %s::%s", value, kind))
					}
				}
				calls = more
			}
			for _, call := range calls {
				call = fmt.Sprintf("hooklatch.%s(%s)", f.Name, strings.TrimPrefix(call, ", "))
				require.LessOrEqual(t, rowsReadBy(t, pool, call), 5000, call)
			}
		})
	}
}

// rowsReadBy returns the number of rows that a call reads in the tables of our schema, or 0 if the
// call is refused. The call's changes are rolled back.
func rowsReadBy(t *testing.T, pool *pgxpool.Pool, call string) (read int) {
	t.Helper()
	rolledBack := errors.New("rolled back")
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "SET LOCAL statement_timeout = '1min'"); err != nil {
			return err
		}
		if _, err := tx.Exec(t.Context(), "SELECT "+call); err != nil {
			return err
		}
		if err := tx.QueryRow(t.Context(), `
			SELECT sum(seq_tup_read + COALESCE(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables WHERE schemaname = 'hooklatch'`).Scan(&read); err != nil {
			return err
		}
		return rolledBack
	})
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		require.NotEqual(t, "57014", refused.Code, "%s was still running after a minute", call)
		return 0
	}
	require.ErrorIs(t, err, rolledBack)
	return read
}

// The function blot_delivery refuses ranges that overlap or lie outside the body. The size of the
// body therefore limits the size of all replacements.
func TestPlacesToBlotOutAreApart(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `
		INSERT INTO hooklatch.deliveries (delivery_id, source, headers, content_type, body)
		VALUES ('00000000-0000-0000-0000-000000000007', 's', '{}', '', '0123456789')`)
	require.NoError(t, err)
	blot := func(ctx context.Context, starts, lengths string) (body string, err error) {
		rolledBack := errors.New("rolled back")
		err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `
				SELECT hooklatch.blot_delivery(d.delivery_id, d.received_at, sha256(d.body), $1, $2, 'item')
				FROM hooklatch.deliveries AS d`, starts, lengths); err != nil {
				return err
			}
			if err := tx.QueryRow(ctx, `SELECT convert_from(body, 'UTF8') FROM hooklatch.deliveries`).Scan(&body); err != nil {
				return err
			}
			return rolledBack
		})
		if errors.Is(err, rolledBack) {
			err = nil
		}
		return body, err
	}
	for _, c := range []struct{ starts, lengths, want string }{
		{"{}", "{}", "0123456789"},
		{"{2}", "{3}", "01null56789"},
		{"{0,9}", "{1,1}", "null12345678null"},
		{"{5,1}", "{1,4}", "0nullnull6789"},
		{"{3}", "{0}", "012null3456789"},
		{"{10}", "{0}", "0123456789null"},
		{"{0}", "{11}", ""},
		{"{-1}", "{1}", ""},
		{"{4}", "{-4}", ""},
		{"{1,2,3}", "{-1,-2,-3}", ""},
		{"{2,3}", "{2,1}", ""},
		{"{2,2}", "{0,0}", ""},
		{"{2,2}", "{0,1}", ""},
		{"{2}", "{}", ""},
		{"{2147483647}", "{2147483647}", ""},
		{"{NULL}", "{1}", ""},
	} {
		body, err := blot(t.Context(), c.starts, c.lengths)
		if c.want == "" {
			require.ErrorContains(t, err, "the places must be within the body, and apart from each other", "%s %s", c.starts, c.lengths)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, body, "%s %s", c.starts, c.lengths)
	}
}
