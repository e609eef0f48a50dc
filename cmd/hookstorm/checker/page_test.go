package checker_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/history.md has a row for every table of the snapshot and for every rule.
func TestPageNamesEveryTableAndRule(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/history.md")
	require.NoError(t, err)
	for name, prefix := range map[string]string{"snapshot.go": "table", "verdict.go": "Rule"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		named := 0
		ast.Inspect(file, func(node ast.Node) bool {
			constant, is := node.(*ast.ValueSpec)
			if !is || len(constant.Values) != 1 || !strings.HasPrefix(constant.Names[0].Name, prefix) {
				return true
			}
			value, err := strconv.Unquote(constant.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			require.Contains(t, string(text), "\n| `"+value+"` |", constant.Names[0].Name)
			named++
			return true
		})
		require.GreaterOrEqual(t, named, 5, name)
	}
}
