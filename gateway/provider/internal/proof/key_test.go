package proof

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestDigest(t *testing.T) {
	t.Parallel()
	for _, equal := range [][]string{
		{`{"a":1,"b":[true,null,"x"]}`, " {\n\"b\" : [ true , null , \"\\u0078\" ] ,\t\"a\": 1 } "},
		{`"é/\n"`, `"\u00e9\/\u000a"`},
		{`"😀"`, `"\ud83d\ude00"`, `"\uD83D\uDE00"`},
		{`{}`, `{ }`},
		{`[]`, `[ ]`},
	} {
		for _, text := range equal {
			require.True(t, json.Valid([]byte(text)), text)
			require.Equal(t, digestOf(equal[0]), digestOf(text), text)
		}
	}
	different := []string{
		`1`, `1.0`, `"1"`, `[1]`, `[[1]]`, `[1,1]`, `[]`, `[[]]`, `{}`, `[{}]`, `null`, `"null"`, `""`, `true`, `{"a":1}`, `{"b":1}`,
		`{"a":{"b":1}}`, `{"a":1,"b":1}`, `"\ud800"`, `"\ud801"`, `"\ufffd"`, `"\udc00\ud800"`, `1` + strings.Repeat("0", 400),
		`1` + strings.Repeat("0", 401), `["a","b"]`, `["b","a"]`, `["ab"]`, `"\u0000"`,
	}
	seen := map[digest]string{}
	for _, text := range different {
		require.True(t, json.Valid([]byte(text)), text)
		require.Empty(t, seen[digestOf(text)], text)
		seen[digestOf(text)] = text
	}
	deep := strings.Repeat("[", 9_999) + strings.Repeat("]", 9_999)
	require.True(t, json.Valid([]byte(deep)))
	require.NotZero(t, digestOf(deep))
}

// TestDigestIgnoresSpelling writes the same value in two ways.
func TestDigestIgnoresSpelling(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.MapOf(rapid.String(), rapid.SliceOf(rapid.String())).Draw(t, "value")
		compact, err := json.Marshal(text)
		require.NoError(t, err)
		indented, err := json.MarshalIndent(text, " ", "\t")
		require.NoError(t, err)
		require.Equal(t, digestOf(string(compact)), digestOf(string(indented)))
	})
}

// TestJoinIsUnambiguous checks that no two lists of parts have the same key.
func TestJoinIsUnambiguous(t *testing.T) {
	t.Parallel()
	part := rapid.StringOfN(rapid.SampledFrom([]rune(":%3Aab")), 0, 6, -1)
	parts := rapid.SliceOfN(part, 1, 4)
	rapid.Check(t, func(t *rapid.T) {
		a, b := parts.Draw(t, "a"), parts.Draw(t, "b")
		if strings.Join(a, "\x00") == strings.Join(b, "\x00") {
			return
		}
		require.NotEqual(t, Join(a...), Join(b...))
		require.NotEqual(t, HashOf(a...), HashOf(b...))
	})
	require.Equal(t, "SM1:delivered", Join("SM1", "delivered"))
	long := Join(strings.Repeat("a", 300), "b")
	require.Len(t, long, len(hashPrefix)+64)
	require.NotEqual(t, long, Join(strings.Repeat("a", 299), "ab"))
}

func TestUnquoteAgreesWithJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		quoted, err := json.Marshal(text)
		require.NoError(t, err)
		require.Equal(t, text, Unquote(string(quoted)))
	})
	require.Equal(t, "\"\\/\b\f\n\r\t", Unquote(`"\"\\\/\b\f\n\r\t"`))
	require.Equal(t, "\xed\xa0\x80", Unquote(`"\ud800"`))
	require.Equal(t, "\xed\xa0\x80A", Unquote(`"\ud800\u0041"`))
}
