package safetext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Shell is a word as a POSIX shell takes it, for commands that people copy. What a terminal
// could act on when it is pasted, such as a control character, is spelled out.
func Shell(word string) string {
	safe := func(r rune) bool {
		return r <= unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("-_./:@+,=", r)
	}
	switch {
	case !utf8.ValidString(word) || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsPrint(r) }):
		var spelled strings.Builder
		for _, b := range []byte(word) {
			switch {
			case b == '\'' || b == '\\':
				spelled.WriteString(`\` + string(rune(b)))
			case b < ' ' || b >= utf8.RuneSelf || b == 0x7f:
				fmt.Fprintf(&spelled, `\x%02x`, b)
			default:
				spelled.WriteByte(b)
			}
		}
		return "$'" + spelled.String() + "'"
	case word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !safe(r) }):
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Operands are words that end a command, none of which is taken for a flag.
func Operands(words ...string) string {
	var line []string
	for _, word := range words {
		if strings.HasPrefix(word, "-") && line == nil {
			line = append(line, "--")
		}
	}
	for _, word := range words {
		line = append(line, Shell(word))
	}
	return strings.Join(line, " ")
}
