package statement

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// forEachFile runs a test for each statement in a folder of testdata, with its expected
// result.
func forEachFile(t *testing.T, dir string, test func(t *testing.T, f folder, name, want string)) {
	t.Helper()
	files, err := filepath.Glob("testdata/" + dir + "/*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".sql")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(strings.TrimSuffix(file, ".sql") + ".want")
			require.NoError(t, err)
			test(t, folder{files: os.DirFS("testdata"), path: dir, used: map[string]bool{}, expanded: map[string][]token{}}, name, string(want))
		})
	}
}

func TestParametersAreNumbered(t *testing.T) {
	t.Parallel()
	forEachFile(t, "accepted", func(t *testing.T, f folder, name, want string) {
		c, err := f.compile(name)
		require.NoError(t, err)
		got := c.text
		if len(c.names()) > 0 {
			got += strings.Join(c.names(), " ") + "\n"
		}
		require.Equal(t, want, got)
		require.Equal(t, name, c.name)
	})
}

func TestUnclearStatementsAreRefused(t *testing.T) {
	t.Parallel()
	forEachFile(t, "refused", func(t *testing.T, f folder, name, want string) {
		_, err := f.compile(name)
		require.EqualError(t, err, strings.TrimSuffix(want, "\n"))
	})
}
