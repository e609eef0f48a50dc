package desk_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// A body that the user does not edit in the browser stays the same, byte for byte.
func TestABodyThatIsNotEditedStays(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"empty": "", "plain": `{"a": 1}`, "unix": "a\nb\n", "windows": "a\r\nb\r\n", "mac": "a\rb", "mixed": "a\r\nb\nc\rd\n\n",
	} {
		// A browser sends every line break as CR LF.
		sent := strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(body, "\r\n", "\n"), "\r", "\n"), "\n", "\r\n")
		var c ledger.Resend
		desk.EditBody(&c, sent, []byte(body))
		require.Nil(t, c.Body, name)
	}
	var c ledger.Resend
	desk.EditBody(&c, "x\r\nb\r\n", []byte("a\nb\n"))
	require.Equal(t, "x\nb\n", string(c.Body))
	desk.EditBody(&c, "x\r\nb\r\n", []byte("a\r\nb\r\n"))
	require.Equal(t, "x\r\nb\r\n", string(c.Body))
	desk.EditBody(&c, "", []byte("a"))
	require.NotNil(t, c.Body)
	require.Empty(t, c.Body)
}

func TestHeadersAreEditedAsLines(t *testing.T) {
	t.Parallel()
	of := ledger.Request{ContentType: "application/json", Headers: map[string][]string{"X-Kind": {"a", "b: c"}, "Hooklatch-Origin": {"backfill"}}}
	text := desk.HeaderLines(of)
	require.Equal(t, "Content-Type: application/json\nHooklatch-Origin: backfill\nX-Kind: a\nX-Kind: b: c\n", text)
	var c ledger.Resend
	require.NoError(t, desk.EditHeaders(&c, strings.ReplaceAll(text, "\n", "\r\n"), of))
	require.Equal(t, ledger.Resend{}, c, "unchanged")

	require.NoError(t, desk.EditHeaders(&c, "content-type:text/plain\r\n\r\nX-Kind: a\r\n X-New : 1 ", of))
	require.Equal(t, "text/plain", *c.ContentType)
	require.Equal(t, map[string][]string{"X-Kind": {"a"}, "X-New": {"1"}}, c.Headers)
	require.NoError(t, desk.EditHeaders(&c, "", of))
	require.Empty(t, *c.ContentType)
	require.Empty(t, c.Headers)
	require.NotNil(t, c.Headers, "all headers are removed")

	for text, want := range map[string]string{
		"no colon": "has no colon", "Bad Name: x": "is not valid", ": x": "is not valid", "hooklatch-attempt: 7": "is set by the destination",
		"Host: evil.example": "is set by the destination", "Content-Length: 5": "is set by the destination", "X-A: b\x00c": "control character",
		strings.Repeat("x", 10<<10): "has no colon",
	} {
		c = ledger.Resend{}
		err := desk.EditHeaders(&c, text, of)
		require.ErrorContains(t, err, want, text)
		require.Less(t, len(err.Error()), 300)
		require.Equal(t, ledger.Resend{}, c, "an invalid text changes nothing")
	}
}

func TestWhatIsText(t *testing.T) {
	t.Parallel()
	require.True(t, desk.IsText([]byte("Grüße\n")))
	require.False(t, desk.IsText([]byte("a\x00b")))
	require.False(t, desk.IsText([]byte{0xff, 0xfe}))
	require.False(t, desk.IsText(make([]byte, desk.MaxEdited+1)))
}
