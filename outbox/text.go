package outbox

import (
	"strings"
	"unicode/utf8"
)

// safeText replaces what a text column refuses: NUL and invalid UTF-8.
func safeText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// excerpt is safe text of at most limit bytes, cut between two characters.
func excerpt(s string, limit int) string {
	s = safeText(s)
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
