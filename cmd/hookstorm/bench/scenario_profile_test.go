package bench

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStatementsAreToldByWhatTheyDo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"begin": "begin",
		"WITH asked AS (SELECT 1), granted AS (\n    UPDATE hooklatch.effects AS e\n SET state = $1) INSERT INTO hooklatch.attempts SELECT 1": "UPDATE effects, INSERT attempts (asked)",
		`INSERT INTO "hooklatch".river_job (a) VALUES ($1) ON CONFLICT (a) DO UPDATE SET kind = $2`:                                           "INSERT river_job",
		"WITH locked AS (SELECT * FROM /* TEMPLATE */river_job WHERE a FOR UPDATE SKIP LOCKED) UPDATE hooklatch.river_job SET a = b":          "UPDATE river_job (locked)",
		"SELECT a FROM hooklatch.processed_events WHERE b = $1":                                                                               "reads processed_events",
		"SELECT pg_notify($1, $2)": "SELECT",
	} {
		require.Equal(t, want, kindOf(text), text)
	}
	require.True(t, looksOn("SELECT EXISTS (SELECT FROM hooklatch.processed_events WHERE outcome = $1)\n    OR EXISTS (SELECT FROM x)"))
	require.False(t, looksOn("SELECT a FROM hooklatch.processed_events"))
}
