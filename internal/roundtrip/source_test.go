package roundtrip_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unbounded lists net/http's functions and variables that send requests through
// http.DefaultTransport.
var unbounded = map[string]bool{
	"DefaultClient": true, "DefaultTransport": true, "Get": true, "Head": true, "Post": true, "PostForm": true,
}

// Every transport and every client in the program is bounded.
func TestEveryTransportIsBounded(t *testing.T) {
	t.Parallel()
	transports := 0
	for _, root := range []string{"../../gateway", "../../outbox", "../../worker", "../../schema", "../../internal", "../../cmd/hooklatch"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			test := strings.HasSuffix(path, "_test.go") || strings.Contains(path, "prooftest") || strings.Contains(path, "crashtest") || strings.Contains(path, "clitest")
			if err != nil || filepath.Ext(path) != ".go" || test {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, 0)
			require.NoError(t, err)
			found, faults := faultsOf(files, file)
			transports += found
			require.Empty(t, faults)
			return nil
		}))
	}
	require.GreaterOrEqual(t, transports, 5, "the walk found too few transports")
}

func TestAnUnboundedTransportIsFound(t *testing.T) {
	t.Parallel()
	for source, faults := range map[string]int{
		`roundtrip.Bounded(&http.Transport{})`:                         0,
		`http.Client{Transport: roundtrip.Bounded(&http.Transport{})}`: 0,
		`&http.Transport{}`:                                               1,
		`http.Client{Transport: &http.Transport{}}`:                       2,
		`http.Client{Timeout: 1}`:                                         1,
		`http.DefaultClient`:                                              1,
		`http.Get("https://example.com")`:                                 1,
		`http.Client{Transport: http.DefaultTransport.(*http.Transport)}`: 2,
	} {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, "x.go", "package x\nvar _ = "+source, 0)
		require.NoError(t, err)
		_, found := faultsOf(files, file)
		require.Len(t, found, faults, source)
	}
}

// faultsOf counts a file's transports, and returns a message for each place that could send
// requests without a bound.
func faultsOf(files *token.FileSet, file *ast.File) (transports int, faults []string) {
	fault := func(n ast.Node, text string) {
		faults = append(faults, fmt.Sprint(files.Position(n.Pos()), ": ", text))
	}
	bounded := map[ast.Node]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if len(n.Args) == 1 && isOf(n.Fun, "roundtrip", "Bounded") {
				bounded[n.Args[0]] = true
				if address, ok := n.Args[0].(*ast.UnaryExpr); ok {
					bounded[address.X] = true
				}
			}
		case *ast.CompositeLit:
			if isOf(n.Type, "http", "Transport") {
				if transports++; !bounded[n] {
					fault(n, "an http.Transport must be the argument of roundtrip.Bounded")
				}
			}
			if isOf(n.Type, "http", "Client") && !hasBounded(n) {
				fault(n, "the Transport of an http.Client must be made by roundtrip.Bounded")
			}
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && of.Name == "http" && unbounded[n.Sel.Name] {
				fault(n, "http."+n.Sel.Name+" is not bounded")
			}
		}
		return true
	})
	return transports, faults
}

// hasBounded reports whether a client's transport comes from Bounded.
func hasBounded(client *ast.CompositeLit) bool {
	for _, element := range client.Elts {
		field, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		call, isCall := field.Value.(*ast.CallExpr)
		if name, ok := field.Key.(*ast.Ident); ok && name.Name == "Transport" && isCall && isOf(call.Fun, "roundtrip", "Bounded") {
			return true
		}
	}
	return false
}

func isOf(n ast.Node, pkg, name string) bool {
	selected, ok := n.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := selected.X.(*ast.Ident)
	return ok && of.Name == pkg && selected.Sel.Name == name
}
