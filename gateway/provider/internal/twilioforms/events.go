package twilioforms

import (
	"net/url"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// Token is the header by which Twilio names a callback over its attempts.
const Token = "I-Twilio-Idempotency-Token"

// callback is one kind of form Twilio sends. Its sid names the resource, not
// the event: the key takes what changes from one callback to the next as well.
type callback struct {
	name    string        // first part of the type
	marks   []string      // form fields that mark it: all are there
	without string        // a form field that is not there
	status  []proof.Field // second part of the type: the first that is there
	// key are the parts of the dedup key: of each list the first that is
	// there, and none may be missing.
	key  [][]proof.Field
	also []proof.Field // parts added to the key where they are there
}

// callbacks lists the kinds, the most specific first.
func callbacks() []callback {
	form := func(names ...string) []proof.Field {
		fields := make([]proof.Field, len(names))
		for i, name := range names {
			fields[i] = proof.InForm(name)
		}
		return fields
	}
	sequence := form("SequenceNumber")
	message := form("MessageSid", "SmsSid", "SmsMessageSid")
	delivered := form("MessageStatus", "SmsStatus")
	return []callback{
		{
			name: "conversation", marks: []string{"ConversationSid", "EventType"}, status: form("EventType"),
			key: [][]proof.Field{
				form("EventType"), form("DeliveryReceiptSid", "MessageSid", "ParticipantSid", "ConversationSid"),
				// The sid comes again with each update, so a time must keep
				// them apart; events that have none carry Twilio's token.
				append(form("DateRemoved", "DateUpdated", "DateCreated"), proof.InHeader(Token)),
			},
			also: form("Status"),
		},
		{
			name: "transcription", marks: []string{"TranscriptionSid"}, status: form("TranscriptionStatus", "TranscriptionEvent"),
			key:  [][]proof.Field{form("TranscriptionSid"), form("TranscriptionStatus", "TranscriptionEvent")},
			also: form("SequenceId"),
		},
		{
			name: "recording", marks: []string{"RecordingSid", "RecordingStatus"}, status: form("RecordingStatus"),
			key: [][]proof.Field{form("RecordingSid"), form("RecordingStatus")},
		},
		{
			name: "conference", marks: []string{"ConferenceSid", "StatusCallbackEvent"}, status: form("StatusCallbackEvent"),
			key: [][]proof.Field{form("ConferenceSid"), form("StatusCallbackEvent"), sequence},
		},
		{
			name: "room", marks: []string{"RoomSid", "StatusCallbackEvent"}, status: form("StatusCallbackEvent"),
			key: [][]proof.Field{form("RoomSid"), form("StatusCallbackEvent"), sequence},
		},
		{name: "message", marks: []string{"MessageSid", "MessageStatus"}, status: delivered, key: [][]proof.Field{message, delivered}},
		{name: "message", marks: []string{"MessageSid", "SmsStatus"}, status: delivered, key: [][]proof.Field{message, delivered}},
		{name: "message", marks: []string{"SmsSid", "SmsStatus"}, status: delivered, key: [][]proof.Field{message, delivered}},
		{
			name: "message", marks: []string{"MessageSid"}, without: "EventType", status: []proof.Field{proof.Fixed("received")},
			key: [][]proof.Field{message, {proof.Fixed("received")}},
		},
		{
			name: "call", marks: []string{"CallSid", "CallStatus"}, status: form("CallStatus"),
			key: [][]proof.Field{form("CallSid"), form("CallStatus")}, also: sequence,
		},
	}
}

// Events describes a proven delivery: a form is one event, a body of Event Streams a
// list of CloudEvents. A call that only asks for TwiML is none.
func Events(r *provider.Request) ([]provider.Event, error) {
	d := &proof.Document{R: r}
	if !proof.IsForm(r) {
		return stream(d)
	}
	form, err := d.Form()
	if err != nil {
		return nil, err
	}
	for _, c := range callbacks() {
		if !c.describes(form) {
			continue
		}
		if c.name == "call" && asksForTwiML(form) {
			return nil, nil
		}
		return c.events(d)
	}
	return nil, &provider.EventError{Message: "the form names no resource with a status (MessageSid and MessageStatus, CallSid and CallStatus, ...)"}
}

// asksForTwiML distinguishes a call that asks what to do next, once for each step of
// its dialogue, from one that reports its progress. The former is no event.
func asksForTwiML(form url.Values) bool {
	if form.Get("CallbackSource") == "call-progress-events" || form.Get("SequenceNumber") != "" {
		return false
	}
	return !slices.Contains([]string{"completed", "busy", "failed", "no-answer", "canceled"}, form.Get("CallStatus"))
}

func (c callback) describes(form url.Values) bool {
	for _, mark := range c.marks {
		if form.Get(mark) == "" {
			return false
		}
	}
	return c.without == "" || !form.Has(c.without)
}

func (c callback) events(d *proof.Document) ([]provider.Event, error) {
	status, err := firstOf(d, c.status)
	if err != nil {
		return nil, err
	}
	var parts []string
	for _, fields := range c.key {
		part, err := firstOf(d, fields)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	for _, f := range c.also {
		if part := f.Optional(d); part != "" {
			parts = append(parts, part)
		}
	}
	kind := c.name + "." + status
	if len(kind) > proof.MaxText {
		return nil, &provider.EventError{Message: "the event type is longer than 255 bytes"}
	}
	return []provider.Event{{ID: proof.Join(parts...), Type: kind, APIVersion: proof.InForm("ApiVersion").Optional(d), OccurredAt: timeOf(d)}}, nil
}

// firstOf returns the first of some texts that is there, and the error of the
// first one when none is.
func firstOf(d *proof.Document, fields []proof.Field) (string, error) {
	var first error
	for _, f := range fields {
		text, err := f.Text(d)
		if err == nil {
			return text, nil
		}
		if first == nil {
			first = err
		}
	}
	return "", first
}

// timeOf reads the time of a callback: calls have one as in e-mail,
// conversations as in RFC 3339, messages none.
func timeOf(d *proof.Document) time.Time {
	for _, f := range []proof.Field{proof.InForm("Timestamp"), proof.InForm("DateRemoved"), proof.InForm("DateUpdated"), proof.InForm("DateCreated")} {
		text := f.Optional(d)
		for _, layout := range []string{time.RFC1123Z, time.RFC3339Nano} {
			if t, err := time.Parse(layout, text); err == nil {
				return t.UTC()
			}
		}
	}
	return time.Time{}
}

// stream reads Event Streams: a CloudEvent, or an array of them.
func stream(d *proof.Document) ([]provider.Event, error) {
	root, err := d.JSON()
	if err != nil {
		return nil, err
	}
	cloudEvent := proof.Facts{ID: proof.Verbatim(proof.At("/id")), Kind: proof.At("/type"), Version: proof.At("/specversion"), Occurred: proof.Clock{Pointer: "/time"}}
	if !root.IsArray() {
		return cloudEvent.Of(d)
	}
	return proof.Each("", cloudEvent.Of)(d)
}
