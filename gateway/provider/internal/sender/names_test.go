package sender

import (
	"go/ast"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

// A sender's file uses nothing that another sender's file declares, so that each file can be read,
// changed and deleted separately. Code that two senders share belongs to package proof or to a
// separate package.
func TestSendersNameNothingOfEachOther(t *testing.T) {
	t.Parallel()
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports,
	}, ".")
	require.NoError(t, err)
	require.Len(t, loaded, 1)
	p := loaded[0]
	require.Empty(t, p.Errors)
	declares := map[string]int{}
	for _, file := range p.Syntax {
		user := filepath.Base(p.Fset.Position(file.Pos()).Filename)
		ast.Inspect(file, func(n ast.Node) bool {
			name, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			if used := p.TypesInfo.Uses[name]; used != nil && used.Pkg() == p.Types {
				declared := filepath.Base(p.Fset.Position(used.Pos()).Filename)
				require.Equal(t, declared, user, "%s names %s of %s: shared code belongs to the engine (package proof)", user, used.Name(), declared)
				declares[declared]++
			}
			return true
		})
	}
	require.NotEmpty(t, declares, "no name was checked")
}
