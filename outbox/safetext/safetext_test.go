package safetext_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/safetext"
)

func TestLineHasNeitherControlCharactersNorHalvesOfOne(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a b c\uFFFD", safetext.Line(" a\x00b\nc\xff\u2029", 100))
	require.Equal(t, "abc", safetext.Line("abc", 3))
	require.Equal(t, "ab...", safetext.Line("abcdef", 5))
	require.Equal(t, "é...", safetext.Line("éé€éé", 6))
	require.Empty(t, safetext.Line("\r\n", 10))
}

func FuzzLine(f *testing.F) {
	f.Add("a\x00b\u2028c\xff", 10)
	f.Add(strings.Repeat("\xf0\x9f\x98\x80", 600), 2048)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if limit < 10 {
			return
		}
		line := safetext.Line(s, limit)
		require.True(t, utf8.ValidString(line))
		require.LessOrEqual(t, len(line), limit)
		require.NotContains(t, line, "\n")
		require.Equal(t, line, safetext.Line(line, limit))
	})
}
