package route

import (
	"strings"

	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// minDemanded is the minimum length of a text worth searching for, in bytes.
const minDemanded = 3

// demanded returns a text that a body must contain for the condition to be true, so that bodies
// without the text need not be read further. The result is the longest text that the condition, or
// one of several conditions joined by &&, requires as the value of a field of the body. The result
// consists of letters, digits and "_.:-", which JSON writes unchanged or as \u00 and two digits. It
// is empty if the condition demands no text.
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

// fileHash is the beginning of the value that an uploaded file has in a form's body: see package
// payload.
const fileHash = "sha256:"

// plainLiteral returns a string literal that looks the same in JSON, or an empty string. It also
// returns an empty string for the hash of an uploaded file, which the stored body does not contain.
func plainLiteral(e celast.Expr) string {
	if e.Kind() != celast.LiteralKind {
		return ""
	}
	text, ok := e.AsLiteral().(types.String)
	if !ok || len(text) < minDemanded || strings.ContainsFunc(string(text), isNotPlain) || strings.HasPrefix(string(text), fileHash) {
		return ""
	}
	return string(text)
}

func isNotPlain(r rune) bool {
	plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.:-", r)
	return !plain
}

// isOfBody reports whether an expression is a body field, or the body itself.
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
