package destination

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Each message contains the text, notifies no user named in the text, and is at most as long as the
// chat service allows.
func TestMessagesOfPresets(t *testing.T) {
	t.Parallel()
	const text = "Paid: <!channel> @everyone & more"
	for name, want := range map[Preset]string{
		"slack":   `{"text":"Paid: &lt;!channel&gt; @everyone &amp; more"}`,
		"discord": `{"allowed_mentions":{"parse":[]},"content":"Paid: <!channel> @everyone & more"}`,
		"teams": `{"attachments":[{"content":{"$schema":"http://adaptivecards.io/schemas/adaptive-card.json","body":[{"text":"Paid: <!channel> @everyone & more",` +
			`"type":"TextBlock","wrap":true}],"type":"AdaptiveCard","version":"1.4"},"contentType":"application/vnd.microsoft.card.adaptive"}],"type":"message"}`,
	} {
		h, err := NewHTTP(HTTPOptions{Name: "chat", Preset: name, SecretURL: secret.New("https://hooks.example.com/T0/B0/x")})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, h.Close()) })
		body, is := h.Message(text)
		require.True(t, is)
		require.JSONEq(t, want, string(body))
		p, _ := presetOf(name)
		body, _ = h.Message(strings.Repeat("ü", p.most+1))
		require.True(t, json.Valid(body))
		require.Equal(t, p.most-1, strings.Count(string(body), "ü"))
		require.True(t, utf8.Valid(body))
		require.Positive(t, HTTPOptions{Preset: name}.UsualRate())
	}
	require.Len(t, Presets(), 3)
	h, err := NewHTTP(HTTPOptions{Name: "app", URL: "https://app.example.com"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	_, is := h.Message(text)
	require.False(t, is)
	require.ErrorContains(t, HTTPOptions{Preset: "icq", URL: "https://app.example.com"}.WithDefaults().Validate(), `preset: "icq" is not a preset`)
}
