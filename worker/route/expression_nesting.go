package route

import (
	"fmt"
	"strings"

	celast "cel.dev/cel-go/common/ast"
)

// tooDeepError returns an error that states the maximum nesting of an expression and the maximum
// length of a chain.
func tooDeepError(chain int) error {
	return fmt.Errorf("is nested too deeply: at most %d lists, maps, arguments and macros may be inside each other, and at most %d operators, fields and calls may follow each other",
		maxNesting, chain)
}

var errTooDeep = tooDeepError(maxChain)

// isRecursionError reports whether a message says that the CEL parser's own limit was exceeded.
func isRecursionError(message string) bool { return strings.Contains(message, "recursion") }

// nesting returns how many levels deep lists, maps, function arguments and macros are nested in an
// expression. Consecutive operators, fields, indexes and method calls add nothing: their result's
// type is no deeper than their operand's type.
func nesting(e celast.Expr) int {
	switch e.Kind() {
	case celast.CallKind:
		call := e.AsCall()
		deepest := deepestOf(call.Args()...)
		if !isOperator(call.FunctionName()) {
			deepest++
		}
		if call.IsMemberFunction() {
			deepest = max(deepest, nesting(call.Target()))
		}
		return deepest
	case celast.SelectKind:
		return nesting(e.AsSelect().Operand())
	case celast.ListKind:
		return 1 + deepestOf(e.AsList().Elements()...)
	case celast.MapKind:
		deepest := 0
		for _, entry := range e.AsMap().Entries() {
			deepest = max(deepest, deepestOf(entry.AsMapEntry().Key(), entry.AsMapEntry().Value()))
		}
		return 1 + deepest
	case celast.StructKind:
		deepest := 0
		for _, field := range e.AsStruct().Fields() {
			deepest = max(deepest, nesting(field.AsStructField().Value()))
		}
		return 1 + deepest
	case celast.ComprehensionKind:
		c := e.AsComprehension()
		return 1 + deepestOf(c.IterRange(), c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result())
	}
	return 0
}

func deepestOf(list ...celast.Expr) int {
	deepest := 0
	for _, e := range list {
		deepest = max(deepest, nesting(e))
	}
	return deepest
}

// isOperator reports whether a function is written as an operator, or is internal to CEL.
func isOperator(function string) bool { return strings.ContainsAny(function[:1], "_!-@") }
