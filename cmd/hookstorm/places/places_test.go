package places_test

import (
	"flag"
	"go/ast"
	"go/constant"
	"go/types"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/places"
	"github.com/hooklatch/hooklatch/internal/failpoint"
)

var update = flag.Bool("update", false, "write places.txt instead of comparing")

const module = "github.com/hooklatch/hooklatch"

// The list agrees with the code. A name that cannot be read from the code fails the test, because
// the sweep could not visit its failpoint.
func TestListHasEveryPlace(t *testing.T) {
	t.Parallel()
	found := inTheCode(t)
	if *update {
		require.NoError(t, os.WriteFile("places.txt", []byte(strings.Join(found, "\n")+"\n"), 0o644))
		return
	}
	require.Equal(t, found, places.All(), "the list of failpoints is out of date; run: go generate ./cmd/hookstorm/places")
	require.Contains(t, places.Transactions(), "accept")
	require.NotContains(t, places.Transactions(), "gateway")
}

// naming lists the functions that pass failpoints, by package and name, with the argument that
// contains the failpoint's name.
var naming = []struct {
	function    string
	argument    int
	transaction bool // the name belongs to a transaction, which has three failpoints
}{
	{"(*" + module + "/outbox/commit.DB).Do", 1, true},
	{module + "/outbox/commit.NewGroup", 1, true},
	{module + "/internal/failpoint.HitIn", 0, true},
	{module + "/internal/failpoint.Hit", 0, false},
}

// inTheCode reads the names of all failpoints from the program's packages.
func inTheCode(t *testing.T) []string {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps | packages.NeedExportFile,
		Dir:  "../../..",
	}, "./gateway/...", "./outbox/...", "./schema/...", "./worker/...", "./internal/...", "./cmd/hooklatch/...")
	require.NoError(t, err)
	require.NotEmpty(t, loaded)
	r := reader{t: t, packages: loaded}
	names := map[string]bool{}
	for _, p := range loaded {
		require.Empty(t, p.Errors)
		if p.PkgPath == module+"/outbox/commit" || p.PkgPath == module+"/internal/failpoint" {
			continue // in these packages the name is a parameter, not a constant
		}
		for call := range r.calls(p) {
			for _, n := range naming {
				if nameOf(p, call) != n.function {
					continue
				}
				for _, name := range r.values(p, call.Args[n.argument]) {
					if !n.transaction {
						names[name] = true
						continue
					}
					for _, moment := range []failpoint.Moment{failpoint.Begin, failpoint.BeforeCommit, failpoint.AfterCommit} {
						names[name+"."+string(moment)] = true
					}
				}
			}
		}
	}
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	return sorted
}

// reader finds the possible values of an expression.
type reader struct {
	t        *testing.T
	packages []*packages.Package
}

func (r reader) calls(p *packages.Package) func(yield func(*ast.CallExpr) bool) {
	return func(yield func(*ast.CallExpr) bool) {
		for _, file := range p.Syntax {
			for node := range ast.Preorder(file) {
				if call, ok := node.(*ast.CallExpr); ok && !yield(call) {
					return
				}
			}
		}
	}
}

// nameOf returns the full name of the called function, or "" if it has none.
func nameOf(p *packages.Package, call *ast.CallExpr) string {
	called := ast.Unparen(call.Fun)
	if index, ok := called.(*ast.IndexListExpr); ok {
		called = index.X
	}
	if index, ok := called.(*ast.IndexExpr); ok {
		called = index.X
	}
	if selector, ok := called.(*ast.SelectorExpr); ok {
		called = selector.Sel
	}
	name, ok := called.(*ast.Ident)
	if !ok {
		return ""
	}
	function, ok := p.TypesInfo.Uses[name].(*types.Func)
	if !ok {
		return ""
	}
	return function.Origin().FullName()
}

// values returns the possible values of the expression. A constant has its value, a parameter its
// arguments, and a conversion all constants of its operand's type.
func (r reader) values(p *packages.Package, e ast.Expr) []string {
	r.t.Helper()
	if value := p.TypesInfo.Types[e].Value; value != nil {
		name := constant.StringVal(value)
		require.NotEmpty(r.t, name, "%s: a failpoint without a name", p.Fset.Position(e.Pos()))
		return []string{name}
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if parameter, ok := p.TypesInfo.Uses[e].(*types.Var); ok {
			if names := r.given(p, parameter); len(names) > 0 {
				return names
			}
		}
	case *ast.CallExpr:
		if p.TypesInfo.Types[e.Fun].IsType() {
			if names := r.constantsOf(p.TypesInfo.TypeOf(e.Args[0])); len(names) > 0 {
				return names
			}
		}
	}
	require.FailNow(r.t, "unknown name", "%s: the name of a failpoint must be known without running the program", p.Fset.Position(e.Pos()))
	return nil
}

// given returns the arguments that calls pass for a parameter of an unexported function. All these
// calls are in the function's package.
func (r reader) given(p *packages.Package, parameter *types.Var) []string {
	for _, defined := range p.TypesInfo.Defs {
		function, ok := defined.(*types.Func)
		if !ok || function.Exported() {
			continue
		}
		at := slices.Index(slices.Collect(function.Signature().Params().Variables()), parameter)
		if at < 0 {
			continue
		}
		var names []string
		for call := range r.calls(p) {
			if nameOf(p, call) == function.FullName() {
				names = append(names, r.values(p, call.Args[at])...)
			}
		}
		return names
	}
	return nil
}

// constantsOf returns the values of all constants of a named type, in any package.
func (r reader) constantsOf(t types.Type) []string {
	named, ok := t.(*types.Named)
	if !ok {
		return nil
	}
	full := func(n *types.Named) string { return n.Obj().Pkg().Path() + "." + n.Obj().Name() }
	var values []string
	for _, p := range r.packages { // each package has its own types for its imports
		for _, name := range p.Types.Scope().Names() {
			c, ok := p.Types.Scope().Lookup(name).(*types.Const)
			if !ok {
				continue
			}
			if of, ok := c.Type().(*types.Named); ok && of.Obj().Pkg() != nil && full(of) == full(named) {
				values = append(values, constant.StringVal(c.Val()))
			}
		}
	}
	return values
}
