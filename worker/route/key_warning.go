package route

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// KeyWarning describes a business key that seems to suppress events.
type KeyWarning struct {
	Route string
	Key   string // expression of the key
	Text  string
}

// String implements fmt.Stringer.
func (w KeyWarning) String() string {
	return fmt.Sprintf("route %q: key: %s, in %q", w.Route, w.Text, w.Key)
}

// repeating lists words in the types of events that usually occur several times for one object,
// each time with new data.
var repeating = []string{
	"update", "updated", "change", "changed", "edit", "edited", "modified", "synchronize", "sync",
	"progress", "status", "transition", "transitioned", "renewed", "push", "adjusted", "moved",
}

// varying lists words in the names of fields whose values usually differ between two events of one
// object.
var varying = []string{
	"at", "date", "time", "timestamp", "ts", "version", "revision", "rev", "sequence", "seq", "nonce", "status", "state",
	"action", "event", "etag", "updated", "modified", "changed", "occurred", "attempt", "hash", "sha", "commit", "after",
	"amount", "balance", "quantity", "total", "period",
}

// KeyWarnings finds two kinds of business keys: keys that do not read the event, and keys that do
// not vary although the types of the route's events repeat. With such a key, only the first event,
// or only the first event of each object, has an effect. KeyWarnings judges by names, so a warning
// is advice and not an error. It skips keys that do not compile, which Check reports.
func KeyWarnings(routes []Route) []KeyWarning {
	envs, err := newExpressionEnvs()
	if err != nil {
		return nil // Check reports it
	}
	var warnings []KeyWarning
	for _, r := range routes {
		if r.Key == "" {
			continue
		}
		compiled, issues := envs.dispatch.Compile(r.Key)
		if issues.Err() != nil {
			continue
		}
		reads, varies := readsOf(compiled)
		switch repeats := repeatingType(r.Types); {
		case !reads:
			warnings = append(warnings, KeyWarning{Route: r.Name, Key: r.Key,
				Text: "is the same for all events: only the first event has an effect"})
		case repeats != "" && !varies:
			warnings = append(warnings, KeyWarning{Route: r.Name, Key: r.Key,
				Text: fmt.Sprintf("contains nothing that varies, but %s occur more than once for one object: only the first has an effect. Add something that varies, such as string(event.occurred_at), or omit the key", repeats)})
		}
	}
	return warnings
}

// repeatingType describes the first repeating type, or all types if none are given. It returns an
// empty string if no type repeats.
func repeatingType(types []string) string {
	if len(types) == 0 {
		return "events of all types"
	}
	for _, t := range types {
		if strings.HasSuffix(t, "*") || hasWord(t, repeating) {
			return "events of type " + t
		}
	}
	return ""
}

// readsOf reports whether an expression reads the event, and whether its value may differ between
// two events of one object.
func readsOf(compiled *cel.Ast) (reads, varies bool) {
	ast.PreOrderVisit(compiled.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.IdentKind:
			name := e.AsIdent()
			reads = reads || name == "event" || name == "body" || name == "headers"
			// The headers contain the delivery's own id.
			varies = varies || name == "headers"
		case ast.CallKind:
			// body["version"] is body.version.
			if call := e.AsCall(); call.FunctionName() == operators.Index && len(call.Args()) == 2 && call.Args()[1].Kind() == ast.LiteralKind {
				name, ok := call.Args()[1].AsLiteral().(types.String)
				varies = varies || ok && fieldVaries(string(name))
			}
		case ast.SelectKind:
			field := e.AsSelect()
			if of := field.Operand(); of.Kind() == ast.IdentKind && of.AsIdent() == "event" {
				varies = varies || slices.Contains([]string{"id", "type", "occurred_at", "received_at"}, field.FieldName())
				return
			}
			varies = varies || fieldVaries(field.FieldName())
		}
	}))
	return reads, varies
}

// fieldVaries reports whether a field's name suggests that its value differs between two events of
// one object. The time at which an object was created is the same in all its events.
func fieldVaries(name string) bool {
	return hasWord(name, varying) && !hasWord(name, []string{"created"})
}

var words = regexp.MustCompile(`[A-Z]?[a-z0-9]+|[A-Z]+`)

// hasWord reports whether a word of a name, such as customer.subscription_updated or
// lastModifiedAt, is on the list.
func hasWord(name string, list []string) bool {
	return slices.ContainsFunc(words.FindAllString(name, -1), func(w string) bool { return slices.Contains(list, strings.ToLower(w)) })
}
