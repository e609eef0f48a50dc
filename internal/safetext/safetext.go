// Package safetext makes text from elsewhere safe to store, log and show.
package safetext

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Storable replaces what a text column refuses: NUL and invalid UTF-8.
func Storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Excerpt is storable text of at most limit bytes.
func Excerpt(s string, limit int) string { return Cut(Storable(s), limit) }

// Cut returns at most limit bytes of valid UTF-8, cut between two characters.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// Line is one line of at most limit bytes, for logs, spans and stored errors:
// valid UTF-8 in which each control character became a space, without those that
// reorder what is shown. What was cut ends in "...".
func Line(s string, limit int) string {
	const ellipsis = "..."
	s = line(s, ' ')
	if len(s) <= limit {
		return s
	}
	return Cut(s, limit-len(ellipsis)) + ellipsis
}

// Printable is text on one line from which control characters are gone rather
// than replaced: they cannot keep apart the parts of a word that is searched for.
func Printable(s string) string { return line(s, -1) }

// line makes a space of what ends a line and of a tab, takes out what reorders
// text, and puts instead in the place of all other control characters. Bytes that
// are not UTF-8 become U+FFFD.
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

// Shown is text for a terminal: s itself, or s quoted if it holds a character that
// could move the cursor or break the line.
func Shown(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
