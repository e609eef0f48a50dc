package doctor_test

import (
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// withRights creates a role with the rights that docs/operations.md gives to a process, and
// returns its name and a pool that connects as this role.
func withRights(t *testing.T, pool *pgxpool.Pool, process string) (role string, connected *pgxpool.Pool) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/operations.md")
	require.NoError(t, err)
	database := pool.Config().ConnConfig.Database
	role = "rights_" + process + "_" + database[len(database)-12:]
	_, err = pool.Exec(t.Context(), "CREATE ROLE "+role+" LOGIN PASSWORD 'secret'")
	require.NoError(t, err)
	granted := 0
	for _, block := range regexp.MustCompile("(?s)```sql\n-- roles:.*?```").FindAllString(string(page), -1) {
		if strings.Contains(block, "TO hooklatch_"+process+";") {
			statements := strings.ReplaceAll(strings.Trim(strings.TrimPrefix(block, "```sql"), "`"), "TO hooklatch_"+process, "TO "+role)
			_, err := pool.Exec(t.Context(), statements)
			require.NoError(t, err)
			granted++
		}
	}
	require.Equal(t, 1, granted)
	u, err := url.Parse(pgtest.URL(t, pool))
	require.NoError(t, err)
	u.User = url.UserPassword(role, "secret")
	connected, err = pgxpool.New(t.Context(), u.String())
	require.NoError(t, err)
	t.Cleanup(connected.Close)
	return role, connected
}

// The program's list contains the rights that the page's statements grant in Postgres.
func TestTheNeededRightsAreThoseOfThePage(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	var list strings.Builder
	for _, process := range []string{"gateway", "worker"} {
		role, _ := withRights(t, pool, process)
		rows, err := pool.Query(t.Context(), `
			SELECT privilege_type, CASE relkind WHEN 'S' THEN 'sequence' ELSE 'table' END, relname::text
			FROM pg_class CROSS JOIN aclexplode(relacl) AS a
			WHERE relnamespace = 'hooklatch'::regnamespace AND a.grantee = to_regrole($1)
			UNION ALL
			SELECT privilege_type, 'column', relname || '.' || attname
			FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid CROSS JOIN aclexplode(attacl) AS a
			WHERE relnamespace = 'hooklatch'::regnamespace AND a.grantee = to_regrole($1)
			UNION ALL
			SELECT privilege_type, 'function', replace(pg_proc.oid::regprocedure::text, 'hooklatch.', '')
			FROM pg_proc CROSS JOIN aclexplode(proacl) AS a
			WHERE pronamespace = 'hooklatch'::regnamespace AND a.grantee = to_regrole($1)
			ORDER BY 2, 3, 1`, role)
		require.NoError(t, err)
		var privilege, kind, object string
		_, err = pgx.ForEachRow(rows, []any{&privilege, &kind, &object}, func() error {
			list.WriteString(strings.Join([]string{process, privilege, kind, object}, " ") + "\n")
			return nil
		})
		require.NoError(t, err)
	}
	const golden = "rights/rights.txt"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(list.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), list.String(), "go test ./internal/program/doctor -update writes the list")
}

func TestMissingRightsAreFound(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	for process, revoked := range map[string]map[string]string{
		"gateway": {
			"UPDATE (next_at) ON hooklatch.coverage": "UPDATE on coverage.next_at", "INSERT ON hooklatch.deliveries": "INSERT on deliveries",
			"USAGE ON SEQUENCE hooklatch.accept_seq": "USAGE on accept_seq",
		},
		"worker": {
			"INSERT ON hooklatch.search_values": "INSERT on search_values", "SELECT ON hooklatch.all_links": "SELECT on all_links",
			"EXECUTE ON FUNCTION hooklatch.drop_day(text, date)": "EXECUTE on drop_day(text,date)",
		},
	} {
		role, connected := withRights(t, pool, process)
		found, err := doctor.Rights(t.Context(), connected, schema.Default)
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.Equal(t, doctor.OK, found[0].Level, "%+v", found)
		for privilege, text := range revoked {
			_, err := pool.Exec(t.Context(), "REVOKE "+privilege+" FROM "+role)
			require.NoError(t, err)
			found, err := doctor.Rights(t.Context(), connected, schema.Default)
			require.NoError(t, err)
			require.Equal(t, doctor.Problem, found[0].Level, privilege)
			require.Contains(t, found[0].Message, text)
			require.Contains(t, found[0].Message, "that a "+process+" needs")
		}
		require.EqualValues(t, 3, func() int64 {
			found, err := doctor.Rights(t.Context(), connected, schema.Default)
			require.NoError(t, err)
			return found[0].Count
		}())
	}
	found, err := doctor.Rights(t.Context(), pool, schema.Default)
	require.NoError(t, err)
	require.Len(t, found, 2, "the owner can be both")
	_, reader := withRights(t, pool, "reader")
	found, err = doctor.Rights(t.Context(), reader, schema.Default)
	require.NoError(t, err)
	require.Empty(t, found, "a reader is neither")
}
