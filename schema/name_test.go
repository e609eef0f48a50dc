package schema_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestNameValidate(t *testing.T) {
	t.Parallel()
	for _, good := range []schema.Name{"hooklatch", "h", "_x", "billing_2", schema.Name(strings.Repeat("a", 46))} {
		require.NoError(t, good.Validate(), good)
	}
	for _, bad := range []schema.Name{"", "Hooklatch", "2nd", "a-b", "a.b", "a b", `a"b`, "ä", "a\n", "pg_hook", "select", "user", "order", "left", schema.Name(strings.Repeat("a", 47))} {
		require.Error(t, bad.Validate(), bad)
	}
}

func TestNameSQL(t *testing.T) {
	t.Parallel()
	const text = "SELECT hooklatch.f() FROM hooklatch.t -- 'hooklatch.t'"
	require.Equal(t, text, schema.Default.SQL(text))
	require.Equal(t, "SELECT other.f() FROM other.t -- 'other.t'", schema.Name("other").SQL(text))
	require.Equal(t, schema.Default, schema.Name("").OrDefault())
	require.Equal(t, schema.Name("other"), schema.Name("other").OrDefault())
}

// Validate refuses every word that the server reserves.
func TestReservedWordsAreRefused(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	rows, err := pool.Query(t.Context(), `SELECT word FROM pg_get_keywords() WHERE catcode IN ('R', 'T') ORDER BY word`)
	require.NoError(t, err)
	words, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.NotEmpty(t, words)
	for _, word := range words {
		require.ErrorContains(t, schema.Name(word).Validate(), "is a reserved word", "add it to reserved_words.txt")
	}
}
