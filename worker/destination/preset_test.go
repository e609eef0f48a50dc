package destination

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Teams reports a failure in the body of a 200.
func TestTeamsFailsWithA200(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]ledger.Verdict{
		`1`: ledger.VerdictDone,
		`Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429 with ContextId tcid=0,server=AM4,cv=x..`: ledger.VerdictNotApplied,
		`Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 413 with ContextId tcid=0`:                   ledger.VerdictRefused,
		`Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 503 with ContextId tcid=0`:                   ledger.VerdictMaybeApplied,
	} {
		url := receive(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
		out := newTestHTTP(t, HTTPOptions{URL: url, Preset: "teams"}).Send(t.Context(), testEffect())
		require.Equal(t, want, out.Verdict, body)
		require.Equal(t, body, out.Excerpt)
		require.Equal(t, ledger.VerdictDone, newTestHTTP(t, HTTPOptions{URL: url}).Send(t.Context(), testEffect()).Verdict)
	}
	h := newTestHTTP(t, HTTPOptions{URL: "https://chat.example.com", Preset: "teams"})
	for _, text := range []string{strings.Repeat("漢", 20_000), strings.Repeat("\"", 20_000), strings.Repeat("\x01", 20_000)} {
		body, _ := h.Message(text)
		require.True(t, json.Valid(body))
		require.LessOrEqual(t, len(body), 28<<10, "Teams refuses more")
		require.Greater(t, len(body), 20<<10)
		require.Contains(t, string(body), "…")
	}
}

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
		body, _ = h.Message(strings.Repeat("q", p.most+1))
		require.True(t, json.Valid(body))
		require.Equal(t, p.most-1, strings.Count(string(body), "q"))
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
