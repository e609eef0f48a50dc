package statement

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// A text's tokens joined together are the complete text. If a text compiles, its parameters' names
// can be put back in place of $1, $2 and so on.
func FuzzCompile(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.sql")
	require.NoError(f, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(string(text))
	}
	marker := regexp.MustCompile(`\x01(\d+)\x01`)
	f.Fuzz(func(t *testing.T, text string) {
		tokens, err := tokenize(text)
		if err != nil || strings.Contains(text, "\x01") {
			return
		}
		var all, numbered strings.Builder
		for _, token := range tokens {
			require.NotEmpty(t, token.text)
			all.WriteString(token.text)
			if token.kind == include {
				return
			}
		}
		require.Equal(t, text, all.String())

		files := fstest.MapFS{"query/a.sql": {Data: []byte(text)}}
		c, err := folder{files: files, path: "query"}.compile("a")
		if err != nil || strings.Contains(strings.Join(c.names(), " "), ".") { // rows have another notation
			return
		}
		again, err := tokenize(c.text)
		require.NoError(t, err)
		used := make([]bool, len(c.names()))
		for _, token := range again {
			require.NotEqual(t, parameter, token.kind)
			if token.kind != positional {
				numbered.WriteString(token.text)
				continue
			}
			numbered.WriteString("\x01" + token.text[1:] + "\x01")
		}
		back := marker.ReplaceAllStringFunc(numbered.String(), func(number string) string {
			n, err := strconv.Atoi(strings.Trim(number, "\x01"))
			require.NoError(t, err)
			require.LessOrEqual(t, n, len(c.names()))
			used[n-1] = true
			return ":" + c.names()[n-1]
		})
		require.NotContains(t, used, false)
		require.Equal(t, text, back)
	})
}
