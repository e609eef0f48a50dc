// Package safetext makes text that came from elsewhere safe to store, to log and
// to send.
package safetext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const ellipsis = "..."

// Line returns s as one line of valid UTF-8 without control characters, of at
// most limit bytes. What is longer ends in "...".
func Line(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
	s = strings.TrimSpace(s)
	if len(s) <= limit {
		return s
	}
	cut := limit - len(ellipsis)
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + ellipsis
}
