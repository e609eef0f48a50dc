package destination

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestExcerptIsSafeText(t *testing.T) {
	t.Parallel()
	r := newRedactor()
	for body, want := range map[string]string{
		"plain":                                "plain",
		"two\r\nlines\tand a tab":              "two  lines and a tab",
		"nul\x00 esc\x1b[31m del\x7f c1\u0085": "nul esc[31m del c1",
		"bad \xff\xfe utf-8":                   "bad \ufffd\ufffd utf-8",
		"reordered \u202eevil":                 "reordered evil",
		"  trimmed \n":                         "trimmed",
	} {
		require.Equal(t, want, r.excerpt([]byte(body), false))
	}
}

func TestExcerptEndsOnACharacter(t *testing.T) {
	t.Parallel()
	text := newRedactor().excerpt([]byte(strings.Repeat("ä", 5000)), false)
	require.True(t, utf8.ValidString(text))
	require.Len(t, text, maxExcerpt)
	text = newRedactor().excerpt([]byte("x"+strings.Repeat("€", 5000)), false)
	require.True(t, utf8.ValidString(text))
	require.LessOrEqual(t, len(text), maxExcerpt)
}

func TestRedactorKnowsSecretsInDisguise(t *testing.T) {
	t.Parallel()
	secret := `can/ary"+secret`
	r := newRedactor(secret, "abc")
	for _, body := range []string{
		`{"auth":"can\/ary"+secret"}`, `can/ary\"+secret`, "q=can%2Fary%22%2Bsecret", "Y2FuL2FyeSIrc2VjcmV0", secret + secret,
	} {
		text := r.excerpt([]byte(body), false)
		require.Contains(t, text, redacted, body)
		require.NotContains(t, text, "ary", body)
	}
	require.Equal(t, "abc is too short to look for", r.excerpt([]byte("abc is too short to look for"), false))
}

// A receiver may echo a secret as a JSON string, with the escapes of any library, or in any variant
// of Base64.
func TestRedactorKnowsHowLibrariesEncode(t *testing.T) {
	t.Parallel()
	secret := "a&b<c>d\\e\"f/g'h+ié😀?ÿÿ"
	r := newRedactor(secret)
	marshalled, err := json.Marshal(secret)
	require.NoError(t, err)
	for by, text := range map[string]string{
		"encoding/json":         string(marshalled),
		"JSON.stringify":        `"a&b<c>d\\e\"f/g'h+ié😀?ÿÿ"`,
		"json.dumps":            `"a&b<c>d\\e\"f/g'h+i\u00e9\ud83d\ude00?\u00ff\u00ff"`,
		"json_encode":           `"a&b<c>d\\e\"f\/g'h+i\u00e9\ud83d\ude00?\u00ff\u00ff"`,
		"System.Text.Json":      `"a\u0026b\u003Cc\u003Ed\\e\u0022f/g\u0027h\u002Bi\u00E9\uD83D\uDE00?\u00FF\u00FF"`,
		"Rails":                 `"a\u0026b\u003cc\u003ed\\e\"f/g'h+ié😀?ÿÿ"`,
		"base64.StdEncoding":    base64.StdEncoding.EncodeToString([]byte(secret)),
		"base64.URLEncoding":    base64.URLEncoding.EncodeToString([]byte(secret)),
		"base64.RawURLEncoding": base64.RawURLEncoding.EncodeToString([]byte(secret)),
	} {
		want := "you put " + redacted
		if strings.HasPrefix(text, `"`) {
			want = `you put "` + redacted + `"`
		}
		require.Equal(t, want, r.excerpt([]byte("you put "+text), false), by)
	}
}

func TestRedactorFindsASecretThatWasCutOff(t *testing.T) {
	t.Parallel()
	r := newRedactor("canary-secret")
	require.Equal(t, "token <secret>", r.excerpt([]byte("token canary-se"), true))
	require.Equal(t, "token canary-se", r.excerpt([]byte("token canary-se"), false))
}

func FuzzExcerpt(f *testing.F) {
	f.Add([]byte("canary\x00-secret"), false)
	f.Add([]byte("a\x00b\xff\u202e canary-secret"), true)
	r := newRedactor("canary-secret")
	f.Fuzz(func(t *testing.T, body []byte, cutOff bool) {
		text := r.excerpt(body, cutOff)
		require.True(t, utf8.ValidString(text))
		require.LessOrEqual(t, len(text), maxExcerpt)
		require.False(t, strings.ContainsFunc(text, unicode.IsControl))
		require.NotContains(t, text, "canary-secret")
	})
}
