package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// Postgres lets every role execute a new function, so each migration that creates one must
// restrict it. River's own functions are exempt: index expressions call them as the role that
// inserts a job.
func TestNobodyButTheOwnerMayExecuteOurFunctions(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	var open []string
	require.NoError(t, pool.QueryRow(t.Context(), `
		SELECT COALESCE(array_agg(p.oid::regprocedure::text ORDER BY p.proname), '{}')
		FROM pg_proc AS p
		WHERE p.pronamespace = 'hooklatch'::regnamespace AND p.proname NOT LIKE 'river%'
			AND has_function_privilege('public', p.oid, 'EXECUTE')`).Scan(&open))
	require.Empty(t, open)
}
