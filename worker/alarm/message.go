package alarm

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/plainjson"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// What is told of something that needs a person.
type What string

// What may be told.
const (
	Began What = "began"
	Lasts What = "lasts"
	Ended What = "ended"
)

// Message is what is told.
type Message struct {
	What    What
	Alert   Alert
	BeganAt time.Time
	At      time.Time

	target int
	times  int
	to     string
	state  *state
}

// key is that of the effect that tells it to a destination: the same for the same.
func (m *Message) key(destination string) string {
	return destination + " " + m.incident() + " " + string(m.What) + " " + strconv.Itoa(m.times)
}

// incident is the same for all that is told of one thing.
func (m *Message) incident() string {
	return m.Alert.Name + "/" + m.Alert.Subject + "/" + strconv.FormatInt(m.BeganAt.UnixMilli(), 10)
}

// since is since when it is so.
func (m *Message) since() time.Time {
	if m.Alert.Since.IsZero() {
		return m.BeganAt
	}
	return m.Alert.Since
}

// Line is what it comes to: what, since when, how many, and the command.
func (m *Message) Line() string {
	since := fmt.Sprintf("since %s (%s)", m.since().UTC().Format("2006-01-02 15:04:05Z"), clock.Roughly(m.At.Sub(m.since())))
	switch m.What {
	case Ended:
		return fmt.Sprintf("over: %s; it was so %s", m.Alert.Message, since)
	case Lasts:
		return fmt.Sprintf("still: %s, %s. Run: %s", m.Alert.Message, since, m.Alert.Command)
	case Began:
	}
	return fmt.Sprintf("%s, %s. Run: %s", m.Alert.Message, since, m.Alert.Command)
}

// page explains the condition and what to do.
const page = "https://github.com/hooklatch/hooklatch/blob/main/docs/monitoring.md#"

func (m *Message) page() string { return page + m.Alert.Name }

// Mail says it to these recipients.
func Mail(recipients ...string) func(Message) (ledger.Request, error) {
	return func(m Message) (ledger.Request, error) {
		subject := fmt.Sprintf("[hooklatch] %s %s: %s", m.What, m.Alert.Name, m.Alert.Subject)
		if m.Alert.Subject == "" {
			subject = fmt.Sprintf("[hooklatch] %s %s", m.What, m.Alert.Name)
		}
		body, err := destination.Message{
			To: recipients, Subject: subject,
			Text: m.Line() + "\n\nWhat it means, and what to do: " + m.page() + "\n",
		}.Encode()
		return ledger.Request{ContentType: destination.EmailContentType, Body: body}, err
	}
}

// JSON says it in fields of our own.
func JSON(m Message) (ledger.Request, error) {
	return request(map[string]any{
		"status": m.What, "alert": m.Alert.Name, "subject": m.Alert.Subject, "severity": m.Alert.Severity,
		"incident": m.incident(), "since": m.since().UTC(), "count": m.Alert.Count,
		"message": m.Alert.Message, "command": m.Alert.Command, "text": m.Line(), "page": m.page(),
	})
}

// Slack says it as an incoming webhook of Slack takes it, and of Mattermost.
// https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
func Slack(m Message) (ledger.Request, error) {
	icon := map[What]string{Began: ":red_circle:", Lasts: ":red_circle:", Ended: ":large_green_circle:"}[m.What]
	return request(map[string]any{"text": fmt.Sprintf("%s *%s* %s\n<%s|what to do>", icon, m.Alert.Name, slackText(m.Line()), m.page())})
}

// PagerDuty says it as the Events API v2 takes it. The integration key is a secret, and
// so it is no part of what is stored: the destination has it as its header
// X-Routing-Key.
// https://developer.pagerduty.com/docs/events-api-v2-overview
func PagerDuty(m Message) (ledger.Request, error) {
	action := "trigger"
	if m.What == Ended {
		action = "resolve"
	}
	severity := map[Severity]string{Page: "critical", Ticket: "warning", Notice: "info"}[m.Alert.Severity]
	return request(map[string]any{
		"event_action": action, "dedup_key": m.incident(),
		"payload": map[string]any{
			"summary": safetext.Line(m.Line(), maxSummary), "source": "hooklatch", "severity": severity, "timestamp": m.since().UTC(),
			"component": m.Alert.Subject, "class": m.Alert.Name,
		},
		"links": []map[string]string{{"href": m.page(), "text": "what to do"}},
	})
}

// maxSummary is how long a summary may be for PagerDuty, in bytes at least.
const maxSummary = 1024

// slackText is text as Slack takes it: three characters have a meaning.
// https://docs.slack.dev/messaging/formatting-message-text
func slackText(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

func request(body any) (ledger.Request, error) {
	text, err := plainjson.Marshal(body)
	return ledger.Request{ContentType: "application/json", Body: text}, err
}
