package checker_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
)

// check judges a file in testdata.
func check(t *testing.T, path string, opts checker.Options) checker.Verdict {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	verdict, err := checker.Check(file, opts)
	require.NoError(t, err)
	return verdict
}

func printed(t *testing.T, v checker.Verdict) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, checker.Print(&out, v))
	return out.String()
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("testdata", pattern))
	require.NoError(t, err)
	require.NotEmpty(t, found)
	return found
}

func TestGoodHistoriesHaveNoViolation(t *testing.T) {
	t.Parallel()
	for _, path := range files(t, "good.*.jsonl") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			v := check(t, path, checker.Options{})
			require.Empty(t, v.Violations, printed(t, v))
		})
	}
}

// The name of each file contains the rule that finds its violation. The first line of the file
// describes the violation.
func TestEachBadHistoryIsFoundByItsRuleAlone(t *testing.T) {
	t.Parallel()
	for _, path := range files(t, "bad.*.jsonl") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			v := check(t, path, checker.Options{})
			fired := make(map[string]bool)
			for _, violation := range v.Violations {
				fired[string(violation.Rule)] = true
			}
			rule := strings.Split(filepath.Base(path), ".")[1]
			require.Equal(t, []string{rule}, slices.Sorted(maps.Keys(fired)), printed(t, v))
		})
	}
}
