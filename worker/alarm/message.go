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

// What is the kind of a message.
type What string

// All kinds of messages.
const (
	Began What = "began"
	Lasts What = "lasts"
	Ended What = "ended"
)

// Message is a notification of an alert.
type Message struct {
	What    What
	Alert   Alert
	BeganAt time.Time
	At      time.Time

	target  int
	times   int
	to      string
	created bool // false if the message was sent before
	state   *state
}

// key returns the effect key for sending the message to its target. Equal messages have equal keys.
// Several targets may share a destination, for example with different recipients.
func (m *Message) key(destination string) string {
	return destination + " " + m.incident() + " " + string(m.What) + " " + strconv.Itoa(m.times) + " " + strconv.Itoa(m.target)
}

// destinationOf returns the destination of an effect key that Message.key returned. The statement
// states.sql finds the destination in the same way.
func destinationOf(key string) string {
	destination, _, _ := strings.Cut(key, " ")
	return destination
}

// incident returns an id that all messages of one firing alert share.
func (m *Message) incident() string {
	return m.Alert.Name + "/" + m.Alert.Subject + "/" + strconv.FormatInt(m.BeganAt.UnixMilli(), 10)
}

// since returns the time at which the condition began. If that time is unknown, since returns the
// time at which the alert began to fire.
func (m *Message) since() time.Time {
	if m.Alert.Since.IsZero() {
		return m.BeganAt
	}
	return m.Alert.Since
}

// Line describes the alert in one line: message, start time and, unless the alert has resolved, the
// command to run.
func (m *Message) Line() string {
	since := fmt.Sprintf("since %s (%s)", m.since().UTC().Format("2006-01-02 15:04:05Z"), clock.Roughly(m.At.Sub(m.since())))
	switch m.What {
	case Ended:
		return fmt.Sprintf("resolved: %s; fired %s", m.Alert.Message, since)
	case Lasts:
		return fmt.Sprintf("still firing: %s, %s. Run: %s", m.Alert.Message, since, m.Alert.Command)
	case Began:
	}
	return fmt.Sprintf("%s, %s. Run: %s", m.Alert.Message, since, m.Alert.Command)
}

// page is the address of the page that explains each condition and what to do.
const page = "https://github.com/hooklatch/hooklatch/blob/main/docs/monitoring.md#"

func (m *Message) page() string { return page + m.Alert.Name }

// maxSubject is the maximum number of message bytes in an email subject.
const maxSubject = 150

// prefixes are the words before the message in an email subject.
var prefixes = map[What]string{Lasts: "still firing: ", Ended: "resolved: "}

// Mail returns a function that renders messages as emails to the recipients. A phone shows the
// beginning of a subject, so the message precedes the condition's name.
func Mail(recipients ...string) func(Message) (ledger.Request, error) {
	return func(m Message) (ledger.Request, error) {
		subject := fmt.Sprintf("[hooklatch] %s%s (%s)", prefixes[m.What], safetext.Line(m.Alert.Message, maxSubject), m.Alert.Name)
		body, err := destination.Message{
			To: recipients, Subject: subject,
			Text: m.Line() + "\n\nWhat it means and what to do: " + m.page() + "\n",
		}.Encode()
		return ledger.Request{ContentType: destination.EmailContentType, Body: body}, err
	}
}

// JSON renders messages in Hooklatch's own format.
func JSON(m Message) (ledger.Request, error) {
	return request(map[string]any{
		"status": m.What, "alert": m.Alert.Name, "subject": m.Alert.Subject, "severity": m.Alert.Severity,
		"incident": m.incident(), "since": m.since().UTC(), "count": m.Alert.Count,
		"message": m.Alert.Message, "command": m.Alert.Command, "text": m.Line(), "page": m.page(),
	})
}

// Slack renders messages for an incoming webhook of Slack or Mattermost.
// https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
func Slack(m Message) (ledger.Request, error) {
	icon := map[What]string{Began: ":red_circle:", Lasts: ":red_circle:", Ended: ":large_green_circle:"}[m.What]
	return request(map[string]any{"text": fmt.Sprintf("%s *%s* %s\n<%s|what to do>", icon, m.Alert.Name, slackText(m.Line()), m.page())})
}

// Chat returns a function that renders messages in the format of the preset's chat service. Without
// a preset, the function renders messages as JSON does.
func Chat(preset destination.Preset) func(Message) (ledger.Request, error) {
	return func(m Message) (ledger.Request, error) {
		body, known := preset.Message(m.Line() + "\n" + m.page())
		if !known {
			return JSON(m)
		}
		return ledger.Request{ContentType: "application/json", Body: body}, nil
	}
}

// PagerDuty renders messages for the Events API v2. The integration key is a secret, so the stored
// request does not contain it: the destination sends it in the header X-Routing-Key.
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

// maxSummary is the maximum number of bytes in a summary that PagerDuty accepts.
const maxSummary = 1024

// slackText escapes the three characters that have a meaning in Slack.
// https://docs.slack.dev/messaging/formatting-message-text
func slackText(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

func request(body any) (ledger.Request, error) {
	text, err := plainjson.Marshal(body)
	return ledger.Request{ContentType: "application/json", Body: text}, err
}
