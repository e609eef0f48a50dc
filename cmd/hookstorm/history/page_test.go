package history_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
)

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/history.md")
	require.NoError(t, err)
	return string(text)
}

func TestPageNamesEveryMemberOfARecord(t *testing.T) {
	t.Parallel()
	text := page(t)
	require.Contains(t, text, "`t`")
	for _, field := range reflect.VisibleFields(reflect.TypeFor[history.Record]()) {
		name := member(field)
		require.Contains(t, text, "`"+name+"`")
		if field.Type.Kind() != reflect.Pointer {
			continue
		}
		_, section, found := strings.Cut(text, "\n`"+name+"`: ")
		require.True(t, found, "the page has no table of %s", name)
		section, _, _ = strings.Cut(section, "\n`")
		for _, of := range reflect.VisibleFields(field.Type.Elem()) {
			require.Contains(t, section, "`"+member(of)+"`", "of %s", name)
		}
	}
}

func member(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

// The values are the constants of Kind, Op and Phase.
func TestPageNamesEveryValue(t *testing.T) {
	t.Parallel()
	text := page(t)
	file, err := parser.ParseFile(token.NewFileSet(), "record.go", nil, 0)
	require.NoError(t, err)
	values := 0
	ast.Inspect(file, func(node ast.Node) bool {
		constant, is := node.(*ast.ValueSpec)
		if !is || constant.Type == nil || len(constant.Values) != 1 {
			return true
		}
		value, err := strconv.Unquote(constant.Values[0].(*ast.BasicLit).Value)
		require.NoError(t, err)
		require.Contains(t, text, "`"+value+"`", constant.Names[0].Name)
		values++
		return true
	})
	require.GreaterOrEqual(t, values, 18)
}
