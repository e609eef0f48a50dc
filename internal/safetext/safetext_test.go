package safetext_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/safetext"
)

func TestEachKindOfTextIsSafeInItsOwnWay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, storable, line, printable, shown string }{
		{"plain", "plain", "plain", "plain", "plain"},
		{" two\r\nlines\t", " two\r\nlines\t", "two  lines", "two  lines", `" two\r\nlines\t"`},
		{"nul\x00end", "nul\uFFFDend", "nul end", "nulend", `"nul\x00end"`},
		{"red \x1b[31m", "red \x1b[31m", "red  [31m", "red [31m", `"red \x1b[31m"`},
		{"bad\xff", "bad\uFFFD", "bad\uFFFD", "bad\uFFFD", `"bad\xff"`},
		{"csi\x9b31m", "csi\uFFFD31m", "csi\uFFFD31m", "csi\uFFFD31m", `"csi\x9b31m"`}, // a control character of terminals without UTF-8
		{"\uFFFD", "\uFFFD", "\uFFFD", "\uFFFD", "\uFFFD"},
		{"re\u202eordered", "re\u202eordered", "reordered", "reordered", `"re\u202eordered"`},
		{"par\u2029agraph", "par\u2029agraph", "par agraph", "par agraph", `"par\u2029agraph"`},
		{"é€", "é€", "é€", "é€", "é€"},
	} {
		require.Equal(t, c.storable, safetext.Storable(c.text))
		require.Equal(t, c.line, safetext.Line(c.text, 100))
		require.Equal(t, c.printable, safetext.Printable(c.text))
		require.Equal(t, c.shown, safetext.Shown(c.text))
	}
}

func TestLineHasNeitherControlCharactersNorHalvesOfOne(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a b c\uFFFD", safetext.Line(" a\x00b\nc\xff\u2029", 100))
	require.Equal(t, "abc", safetext.Line("abc", 3))
	require.Equal(t, "ab...", safetext.Line("abcdef", 5))
	require.Equal(t, "é...", safetext.Line("éé€éé", 6))
	require.Equal(t, "...", safetext.Line("abcd", 3))
	require.Equal(t, "..", safetext.Line("abcd", 2))
	require.Empty(t, safetext.Line("abcd", 0))
	require.Empty(t, safetext.Line("\r\n", 10))
}

func TestTextIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	require.Equal(t, "ab", safetext.Cut("ab", 2))
	require.Equal(t, "a", safetext.Cut("a€", 3))
	require.Empty(t, safetext.Cut("€", 2))
	require.Equal(t, "\uFFFD", safetext.Excerpt("\x00b", 3))
	require.Equal(t, "...", safetext.Line("€uro", 5))
}

func FuzzLine(f *testing.F) {
	f.Add("a\x00b\u2028c\xff", 10)
	f.Add(strings.Repeat("\xf0\x9f\x98\x80", 600), 2048)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if limit < 0 {
			return
		}
		line := safetext.Line(s, limit)
		require.True(t, utf8.ValidString(line))
		require.LessOrEqual(t, len(line), limit)
		require.False(t, strings.ContainsFunc(line, unicode.IsControl))
		require.Equal(t, line, safetext.Line(line, limit))
		require.True(t, utf8.ValidString(safetext.Excerpt(s, limit)))
		require.NotContains(t, safetext.Excerpt(s, limit), "\x00")
	})
}
