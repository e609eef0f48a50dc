package statement

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// dollarTag matches the tag that begins and ends a dollar-quoted string.
var dollarTag = regexp.MustCompile(`^\$(?:[A-Za-z_[:^ascii:]][\w[:^ascii:]]*)?\$`)

// kind is a token's meaning to the loader.
type kind int

const (
	other      kind = iota // operators, punctuation, white space
	comment                // -- to the end of the line, and /* */
	literal                // strings, including dollar-quoted ones, and quoted names
	word                   // keywords, names, numbers
	parameter              // :name
	positional             // $1
	include                // {{fragment}}
)

// token is a piece of SQL. All tokens' texts together are the statement.
type token struct {
	kind kind
	text string
}

// Positionals returns the highest n among the parameters $n in a text, or 0. It ignores
// everything after an unterminated literal.
func Positionals(text string) int {
	tokens, _ := tokenize(text) // Postgres refuses an invalid text and explains why
	highest := 0
	for _, t := range tokens {
		if t.kind != positional {
			continue
		}
		if n, err := strconv.Atoi(t.text[1:]); err == nil {
			highest = max(highest, n)
		}
	}
	return highest
}

// tokenize splits SQL as Postgres does with standard_conforming_strings on, as far as needed to
// find parameters. If it returns an error, it also returns the tokens before the error.
func tokenize(text string) ([]token, error) {
	all := make([]token, 0, len(text)/4)
	for at := 0; at < len(text); {
		kind, length := scan(text[at:])
		if length < 0 {
			begin, _, _ := strings.Cut(text[at:], "\n")
			return all, fmt.Errorf("%.20q in line %d has no end", begin, 1+strings.Count(text[:at], "\n"))
		}
		all = append(all, token{kind: kind, text: text[at : at+length]})
		at += length
	}
	return all, nil
}

// scan returns the kind and length of the first token in a non-empty text. The length is negative
// if the token has no end.
func scan(text string) (kind, int) {
	if length := wordLength(text); length > 0 {
		if strings.EqualFold(text[:length], "e") && strings.HasPrefix(text[length:], "'") {
			return literal, quoted(text, length, true)
		}
		return word, length
	}
	switch {
	case strings.HasPrefix(text, "--"):
		line, _, _ := strings.Cut(text, "\n")
		return comment, len(line)
	case strings.HasPrefix(text, "/*"):
		return comment, blockComment(text)
	case strings.HasPrefix(text, "{{"):
		return include, through(text, 2, "}}")
	case text[0] == '\'' || text[0] == '"':
		return literal, quoted(text, 0, false)
	case text[0] == '$':
		return dollar(text)
	case text[0] == ':':
		return colon(text)
	}
	return other, max(1, len(text)-len(strings.TrimLeft(text, " \t\r\n")))
}

// colon reads a parameter, a cast, an assignment, or a lone colon. An array slice is written with
// spaces, as psql requires too: [1 : n].
func colon(text string) (kind, int) {
	if strings.HasPrefix(text, "::") || strings.HasPrefix(text, ":=") {
		return other, 2
	}
	if length := wordLength(text[1:]); length > 0 && !isDigit(text[1]) {
		return parameter, 1 + length
	}
	return other, 1
}

// dollar reads a positional parameter or a dollar-quoted string.
func dollar(text string) (kind, int) {
	digits := 1
	for digits < len(text) && isDigit(text[digits]) {
		digits++
	}
	if digits > 1 {
		return positional, digits
	}
	tag := dollarTag.FindString(text)
	if tag == "" {
		return literal, -1
	}
	return literal, through(text, len(tag), tag)
}

// quoted returns the length of a literal whose quote is at the index open. A doubled quote belongs
// to the literal. If backslashes escape, a quote after a backslash also belongs to the literal.
func quoted(text string, open int, escapes bool) int {
	for i := open + 1; i < len(text); i++ {
		switch {
		case escapes && text[i] == '\\':
			i++
		case text[i] != text[open]:
		case i+1 < len(text) && text[i+1] == text[open]:
			i++
		default:
			return i + 1
		}
	}
	return -1
}

// blockComment returns the length of a comment, which may contain nested comments.
func blockComment(text string) int {
	depth := 0
	for i := 0; i+1 < len(text); i++ {
		switch text[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
		}
		if depth == 0 {
			return i + 1
		}
	}
	return -1
}

// through searches text for the string end, beginning at the index from. It returns the index after
// the first occurrence, or -1.
func through(text string, from int, end string) int {
	i := strings.Index(text[from:], end)
	if i < 0 {
		return -1
	}
	return from + i + len(end)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// wordLength returns the length of the word at the beginning of text.
func wordLength(text string) int {
	for i := range len(text) {
		c := text[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', isDigit(c), c == '_', c >= 0x80:
		case c == '$' && i > 0:
		default:
			return i
		}
	}
	return len(text)
}
