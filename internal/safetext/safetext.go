// Package safetext makes external text safe to store, log and show.
package safetext

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Storable replaces NUL and invalid UTF-8, which a text column refuses, with U+FFFD.
func Storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Excerpt returns the beginning of s as storable text of at most limit bytes.
func Excerpt(s string, limit int) string { return Cut(Storable(s), limit) }

// Cut shortens s, which must be valid UTF-8, to at most limit bytes without splitting a character.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// Line returns s as one line of at most limit bytes, for logs, spans and stored errors. The line is
// valid UTF-8, with spaces for control characters, and without characters that reorder text. A
// shortened line ends in "...".
func Line(s string, limit int) string {
	const ellipsis = "..."
	s = line(s, ' ')
	if len(s) <= limit {
		return s
	}
	return Cut(s, max(limit-len(ellipsis), 0)) + ellipsis[:min(limit, len(ellipsis))]
}

// Printable returns s on one line. Line ends and tabs become spaces. Other control characters, and
// characters that reorder text, are removed: a replacement could split a word that an operator
// searches for.
func Printable(s string) string { return line(s, -1) }

// line replaces line ends and tabs with spaces, and removes characters that reorder text. It
// replaces all other control characters with the parameter instead, or removes them if that
// parameter is negative. Bytes that are not UTF-8 become U+FFFD. White space at both ends is
// removed.
func line(s string, instead rune) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.Is(unicode.Bidi_Control, r):
			return -1
		case unicode.IsControl(r):
			return instead
		}
		return r
	}, s))
}

// Shown returns text for a terminal: s itself, or s quoted if it contains a character that is not
// printable. Such a character could move the cursor or break the line. Some terminals take a byte
// that is not UTF-8 for a control character.
func Shown(s string) string {
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
