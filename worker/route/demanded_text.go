package route

import (
	"strings"

	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// minDemanded is how long a text is that is worth searching for, in bytes.
const minDemanded = 3

// demanded is a text that stands in the body of every event for which a condition is true,
// so that bodies without it need not be read any further: the longest one that one side of
// an && asks a field of the body to be. It is made of letters, digits and "_.:-", which JSON
// writes as they are or as \u00 and two digits. Empty: the condition demands none.
func demanded(e celast.Expr) string {
	if e.Kind() != celast.CallKind {
		return ""
	}
	call := e.AsCall()
	var longest string
	switch call.FunctionName() {
	case operators.LogicalAnd:
		for _, side := range call.Args() {
			if text := demanded(side); len(text) > len(longest) {
				longest = text
			}
		}
	case operators.Equals:
		if sides := call.Args(); len(sides) == 2 {
			for i, side := range sides {
				if text := plainLiteral(side); text != "" && isOfBody(sides[1-i]) {
					longest = text
				}
			}
		}
	}
	return longest
}

// plainLiteral is a string literal that looks the same in JSON, or nothing.
func plainLiteral(e celast.Expr) string {
	if e.Kind() != celast.LiteralKind {
		return ""
	}
	text, ok := e.AsLiteral().(types.String)
	if !ok || len(text) < minDemanded || strings.ContainsFunc(string(text), isNotPlain) {
		return ""
	}
	return string(text)
}

func isNotPlain(r rune) bool {
	plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.:-", r)
	return !plain
}

// isOfBody tells whether an expression is a field of the body, or the body itself.
func isOfBody(e celast.Expr) bool {
	for {
		switch e.Kind() {
		case celast.IdentKind:
			return e.AsIdent() == "body"
		case celast.SelectKind:
			if e.AsSelect().IsTestOnly() {
				return false
			}
			e = e.AsSelect().Operand()
		case celast.CallKind:
			call := e.AsCall()
			if call.FunctionName() != operators.Index || len(call.Args()) == 0 {
				return false
			}
			e = call.Args()[0]
		default:
			return false
		}
	}
}
