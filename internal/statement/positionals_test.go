package statement

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParametersAreCounted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"":                                  0,
		"SELECT 1":                          0,
		"INSERT INTO a VALUES ($1, $3, $2)": 3,
		"SELECT $1, $1, $12::jsonb":         12,
		"SELECT '$2', \"$3\", $1 -- $4":     1,
		"SELECT /* $9 */ $1 -- $4\n, $2":    2,
		"SELECT /* /* $9 */ $8 */ $1":       1,
		"SELECT a$2, $1":                    1,
		"SELECT 'it''s $5', $1":             1,
		`SELECT E'it\'s $5', $1`:            1,
		"SELECT $$ $7 $$, $1":               1,
		"SELECT $tag$ $7 $$ $tag$, $2":      2,
		"SELECT 'open $1":                   0,
		"SELECT $":                          0,
	} {
		require.Equal(t, want, Positionals(text), text)
	}
}

func FuzzPositionals(f *testing.F) {
	for _, text := range []string{"$1", "E'\\'", "$a$ $1 $a$", "/* */--\n", "'\"$"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		require.GreaterOrEqual(t, Positionals(text), 0)
	})
}
