package schema_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema"
)

func TestNameValidate(t *testing.T) {
	t.Parallel()
	for _, good := range []schema.Name{"hooklatch", "h", "_x", "billing_2", schema.Name(strings.Repeat("a", 46))} {
		require.NoError(t, good.Validate(), good)
	}
	for _, bad := range []schema.Name{"", "Hooklatch", "2nd", "a-b", "a.b", "a b", `a"b`, "ä", "a\n", schema.Name(strings.Repeat("a", 47))} {
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
