package route

import (
	"fmt"
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// PersonalKey describes an expression that builds a key from a field whose name suggests personal
// data. An erasure does not remove keys.
type PersonalKey struct {
	Route string
	Field string // route field: key, order_by or latest_by
	Name  string // name of the field that the expression reads
}

// String implements fmt.Stringer.
func (k PersonalKey) String() string {
	return fmt.Sprintf("route %q: %s: reads %s, which identifies a person", k.Route, k.Field, k.Name)
}

// personal lists words of field names that suggest an email address or a telephone number.
var personal = []string{"email", "mail", "phone", "telephone", "mobile", "msisdn", "fax"}

// NamesPerson reports whether a field's name suggests a person's email address or telephone
// number. A name that also contains the word id, hash or sha256 does not count.
func NamesPerson(name string) bool {
	return hasWord(name, personal) && !hasWord(name, []string{"id", "hash", "sha256"})
}

// PersonalKeys finds keys built from fields whose names suggest an email address or a telephone
// number. It skips keys that do not compile, which Check reports.
func PersonalKeys(routes []Route) []PersonalKey {
	envs, err := newExpressionEnvs()
	if err != nil {
		return nil // Check reports it
	}
	var found []PersonalKey
	for _, r := range routes {
		for _, k := range []struct{ field, expression string }{{"key", r.Key}, {"order_by", r.OrderBy}, {"latest_by", r.LatestBy}} {
			if k.expression == "" {
				continue
			}
			compiled, issues := envs.dispatch.Compile(k.expression)
			if issues.Err() != nil {
				continue
			}
			var names []string
			ast.PreOrderVisit(compiled.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
				if name := fieldRead(e); NamesPerson(name) && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}))
			for _, name := range names {
				found = append(found, PersonalKey{Route: r.Name, Field: k.field, Name: name})
			}
		}
	}
	return found
}

// fieldRead returns the name of the field that an expression reads, or an empty string.
func fieldRead(e ast.Expr) string {
	switch e.Kind() {
	case ast.SelectKind:
		return e.AsSelect().FieldName()
	case ast.CallKind:
		// body["email"] is body.email.
		if call := e.AsCall(); call.FunctionName() == operators.Index && len(call.Args()) == 2 && call.Args()[1].Kind() == ast.LiteralKind {
			if name, isText := call.Args()[1].AsLiteral().(types.String); isText {
				return string(name)
			}
		}
	}
	return ""
}
