package destination

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/internal/rate"
)

// Preset is a chat whose incoming webhooks take messages: slack, teams or discord.
type Preset string

// preset is how one of them takes a message.
type preset struct {
	Name Preset
	// rate is what the chat allows one webhook.
	rate rate.PerSecond
	// most is how many characters of a message the chat takes.
	most int
	// body holds a text as a message in which nothing of the text is markup that notifies
	// people: it comes from a sender.
	body func(text string) any
}

// presets are all of them. Sources:
// docs.slack.dev/messaging/sending-messages-using-incoming-webhooks and /apis/web-api/rate-limits;
// learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook;
// discord.com/developers/docs/resources/webhook and /topics/rate-limits.
func presets() []preset {
	return []preset{
		{"slack", 1, 40_000, func(text string) any {
			return map[string]string{"text": strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)}
		}},
		{"teams", 2, 20_000, func(text string) any {
			return map[string]any{"type": "message", "attachments": []any{map[string]any{
				"contentType": "application/vnd.microsoft.card.adaptive",
				"content": map[string]any{
					"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4",
					"body": []any{map[string]any{"type": "TextBlock", "wrap": true, "text": text}},
				},
			}}}
		}},
		{"discord", 2, 2_000, func(text string) any {
			return map[string]any{"content": text, "allowed_mentions": map[string]any{"parse": []string{}}}
		}},
	}
}

func presetOf(name Preset) (preset, bool) {
	at := slices.IndexFunc(presets(), func(p preset) bool { return p.Name == name })
	if at < 0 {
		return preset{}, false
	}
	return presets()[at], true
}

// Presets returns the names of all presets.
func Presets() []string {
	var names []string
	for _, p := range presets() {
		names = append(names, string(p.Name))
	}
	return names
}

// UsualRate is the rate that the preset allows, or 0 without one.
func (o HTTPOptions) UsualRate() rate.PerSecond {
	p, _ := presetOf(o.Preset)
	return p.rate
}

// Message implements Messenger.
func (h *HTTP) Message(text string) ([]byte, bool) {
	p, is := presetOf(h.preset)
	if !is {
		return nil, false
	}
	if letters := []rune(text); len(letters) > p.most {
		text = string(letters[:p.most-1]) + "…"
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)     // it is no HTML, and people read it in the ledger
	_ = encoder.Encode(p.body(text)) // texts encode
	return bytes.TrimSuffix(body.Bytes(), []byte("\n")), true
}
