package rule_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/rule"
)

// A fragment that only one package's statements use belongs in that package's folder. There, the
// loader reports a fragment that no statement contains any more.
func TestRulesAreOfSeveralPackages(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(rule.Fragments(), "*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	packages := map[string]map[string]bool{}
	for _, root := range []string{"../../outbox", "../../worker", "../../cmd", "../../schema", "../../internal"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".sql" {
				return err
			}
			text, err := os.ReadFile(path)
			for _, file := range names {
				name := strings.TrimSuffix(file, ".sql")
				if strings.Contains(string(text), "{{"+name+"}}") || strings.Contains(string(text), "{{"+name+" ") {
					if packages[name] == nil {
						packages[name] = map[string]bool{}
					}
					where := filepath.Dir(path)
					if filepath.Base(where) == "rule" {
						where = path // several rules may share a file
					}
					packages[name][where] = true
				}
			}
			return err
		}))
	}
	for _, file := range names {
		require.Greater(t, len(packages[strings.TrimSuffix(file, ".sql")]), 1, "%s is contained in statements of %v only", file, packages)
	}
}
