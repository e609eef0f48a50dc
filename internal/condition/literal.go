// Package condition removes the literals from an event condition before it is stored: a CEL
// expression keeps the fields that it compares, but not the values.
package condition

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Concealed returns an expression with a hash in place of each string, bytes or number literal, and
// without comments. The hash includes the parameter salt, such as the request id of a bulk run, so
// a literal has a different hash under each salt. Anyone who knows the salt and a literal can check
// whether the expression contains that literal. Concealed also returns the literals as they were
// written.
func Concealed(expression, salt string) (text string, literals []string) {
	text = WithoutLiterals(expression, func(literal string) string {
		literals = append(literals, literal)
		sum := sha256.Sum256([]byte(salt + "\n" + literal))
		return "sha256:" + hex.EncodeToString(sum[:8])
	})
	return text, literals
}

// WithoutLiterals removes the comments of an expression, and replaces each literal with the result
// of the function instead, which receives the literal as it was written.
func WithoutLiterals(expression string, instead func(literal string) string) string {
	var out strings.Builder
	for i := 0; i < len(expression); {
		end, literal := literalAt(expression, i)
		switch {
		case literal:
			out.WriteString(instead(expression[i:end]))
		case strings.HasPrefix(expression[i:end], "//"):
		default:
			out.WriteString(expression[i:end])
		}
		i = end
	}
	return out.String()
}

// literalAt returns the end of the token at i, and whether the token is a literal.
func literalAt(text string, i int) (end int, literal bool) {
	switch c := text[i]; {
	case strings.HasPrefix(text[i:], "//"):
		if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
			return i + n, false
		}
		return len(text), false
	case isDigit(c), c == '.' && i+1 < len(text) && isDigit(text[i+1]):
		return numberEnd(text, i), true
	case c == '"' || c == '\'':
		return stringEnd(text, i, false), true
	case isLetter(c):
		end = i
		for end < len(text) && (isLetter(text[end]) || isDigit(text[end])) {
			end++
		}
		// r, b, rb and br before a quote are part of the literal.
		prefix := strings.ToLower(text[i:end])
		if end < len(text) && (text[end] == '"' || text[end] == '\'') && (prefix == "r" || prefix == "b" || prefix == "rb" || prefix == "br") {
			return stringEnd(text, end, strings.Contains(prefix, "r")), true
		}
		return end, false
	}
	return i + 1, false
}

// numberEnd returns the end of a number including its fraction, exponent and suffix.
func numberEnd(text string, i int) int {
	for ; i < len(text); i++ {
		signed := (text[i] == '+' || text[i] == '-') && (text[i-1] == 'e' || text[i-1] == 'E')
		if !isDigit(text[i]) && !isLetter(text[i]) && text[i] != '.' && !signed {
			break
		}
	}
	return i
}

// stringEnd returns the end of the string whose opening quote is at i, or the end of text if the
// string is not closed. In a raw string, a backslash escapes nothing.
func stringEnd(text string, i int, raw bool) int {
	quote := text[i : i+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(text[i:], triple) {
		quote = triple
	}
	for i += len(quote); i < len(text); i++ {
		switch {
		case text[i] == '\\' && !raw:
			i++
		case strings.HasPrefix(text[i:], quote):
			return i + len(quote)
		}
	}
	return len(text)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
