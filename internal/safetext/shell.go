package safetext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Shell returns a word quoted for a POSIX shell, for commands that operators copy. Characters
// on which a terminal could act when they are pasted, such as control characters, are escaped.
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

// Operands returns the words, quoted by Shell, for the end of a command. The result begins with
// "--" if a word could be taken for a flag.
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
