package wildcard_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/wildcard"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// Go and SQL interpret a pattern in the same way.
func TestMatch(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Empty())
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"invoice.paid", "invoice.paid", true},
		{"invoice.paid", "invoice.paid.x", false},
		{"invoice.*", "invoice.paid", true},
		{"invoice.*", "invoice.", true},
		{"invoice.*", "invoice", false},
		{"*", "", true},
		{"*", "a/b.c", true},
		{"*.updated", "customer.subscription.updated", true},
		{"a*b", "ab", true},
		{"a*a", "a", false},
		{"a*b*c", "a-b-b-c", true},
		{"a*b*c", "a-c-b", false},
		{"**", "x", true},
		{"[a]", "a", false},
		{"a_c", "abc", false},
		{"100%*", "100% off", true},
		{"%", "x", false},
		{`a\*`, `a\b`, true},
	} {
		require.Equal(t, c.want, wildcard.Match(c.pattern, c.text), "%q against %q", c.pattern, c.text)
		var liked bool
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT $1::text LIKE $2`, c.text, wildcard.Like(c.pattern)).Scan(&liked))
		require.Equal(t, c.want, liked, "%q against %q in SQL", c.pattern, c.text)
	}
}
