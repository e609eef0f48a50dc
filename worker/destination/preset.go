package destination

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hooklatch/hooklatch/internal/rate"
)

// Preset is the name of a chat service whose incoming webhooks accept messages: slack, teams or
// discord.
type Preset string

// preset defines how one chat service accepts a message.
type preset struct {
	Name Preset
	// rate is the rate that the chat service allows for one webhook.
	rate rate.PerSecond
	// most is the maximum number of characters in a message. size is the maximum size of the body
	// in bytes, or 0 if the service has no such limit.
	most, size int
	// body returns a message with the text. The text comes from a sender, so no part of it may act as
	// markup that notifies users.
	body func(text string) any
}

// presets returns all presets. Sources:
// docs.slack.dev/messaging/sending-messages-using-incoming-webhooks and /apis/web-api/rate-limits;
// learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook;
// discord.com/developers/docs/resources/webhook and /topics/rate-limits.
func presets() []preset {
	return []preset{
		{"slack", 1, 40_000, 0, func(text string) any {
			return map[string]string{"text": strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)}
		}},
		{"teams", 2, 20_000, 27 << 10, func(text string) any {
			return map[string]any{"type": "message", "attachments": []any{map[string]any{
				"contentType": "application/vnd.microsoft.card.adaptive",
				"content": map[string]any{
					"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4",
					"body": []any{map[string]any{"type": "TextBlock", "wrap": true, "text": text}},
				},
			}}}
		}},
		{"discord", 2, 2_000, 0, func(text string) any {
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

// UsualRate returns the rate that the preset allows, or 0 without a preset.
func (o HTTPOptions) UsualRate() rate.PerSecond {
	p, _ := presetOf(o.Preset)
	return p.rate
}

// Message implements Messenger.
func (h *HTTP) Message(text string) ([]byte, bool) { return h.preset.Message(text) }

// Message returns a message with the text in the format of the chat service. A text that is too
// long for the service is cut. Message returns false without a preset.
func (name Preset) Message(text string) ([]byte, bool) {
	p, is := presetOf(name)
	if !is {
		return nil, false
	}
	letters := []rune(text)
	if len(letters) > p.most {
		letters = append(letters[:p.most-1], '…')
	}
	body := p.encode(string(letters))
	for p.size > 0 && len(body) > p.size {
		kept := min(len(letters)*p.size/len(body), len(letters)-1)
		letters = append(letters[:kept-1], '…')
		body = p.encode(string(letters))
	}
	return body, true
}

func (p preset) encode(text string) []byte {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)     // the body is not HTML, and operators read it in the ledger
	_ = encoder.Encode(p.body(text)) // a text can always be encoded
	return bytes.TrimSuffix(body.Bytes(), []byte("\n"))
}

// teamsFailure matches the body of a 200 response in which an incoming webhook of Teams reports a
// failure. It captures the status of the failure. Source:
// learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using.
var teamsFailure = regexp.MustCompile(`^Webhook message delivery failed with error: .{0,100} returned HTTP error ([45][0-9]{2})\b`)

// failure returns the status of a failure that the chat service reports in the body of a 2xx
// response, or 0.
func (name Preset) failure(body []byte) int {
	if name != "teams" {
		return 0
	}
	found := teamsFailure.FindSubmatch(body)
	if found == nil {
		return 0
	}
	status, _ := strconv.Atoi(string(found[1])) // three digits
	return status
}
