package provider

import (
	"net/url"
	"slices"
	"time"
)

// twilioToken is the header by which Twilio names a callback over its attempts.
const twilioToken = "I-Twilio-Idempotency-Token"

// callback is one kind of form Twilio sends. Its sid names the resource, not
// the event: the key takes what changes from one callback to the next as well.
type callback struct {
	name    string   // first part of the type
	marks   []string // form fields that tell it from the others: all are there
	without string   // a form field that is not there
	status  []field  // second part of the type: the first that is there
	// key are the parts of the dedup key: of each list the first that is
	// there, and none may be missing.
	key  [][]field
	also []field // parts added to the key where they are there
}

// twilioCallbacks lists the kinds, the most specific first.
func twilioCallbacks() []callback {
	form := func(names ...string) []field {
		fields := make([]field, len(names))
		for i, name := range names {
			fields[i] = inForm(name)
		}
		return fields
	}
	sequence := form("SequenceNumber")
	message := form("MessageSid", "SmsSid", "SmsMessageSid")
	delivered := form("MessageStatus", "SmsStatus")
	return []callback{
		{
			name: "conversation", marks: []string{"ConversationSid", "EventType"}, status: form("EventType"),
			key: [][]field{
				form("EventType"), form("DeliveryReceiptSid", "MessageSid", "ParticipantSid", "ConversationSid"),
				// The sid comes again with each update, so a time must tell
				// them apart; events that have none carry Twilio's token.
				append(form("DateRemoved", "DateUpdated", "DateCreated"), inHeader(twilioToken)),
			},
			also: form("Status"),
		},
		{
			name: "transcription", marks: []string{"TranscriptionSid"}, status: form("TranscriptionStatus", "TranscriptionEvent"),
			key:  [][]field{form("TranscriptionSid"), form("TranscriptionStatus", "TranscriptionEvent")},
			also: form("SequenceId"),
		},
		{
			name: "recording", marks: []string{"RecordingSid", "RecordingStatus"}, status: form("RecordingStatus"),
			key: [][]field{form("RecordingSid"), form("RecordingStatus")},
		},
		{
			name: "conference", marks: []string{"ConferenceSid", "StatusCallbackEvent"}, status: form("StatusCallbackEvent"),
			key: [][]field{form("ConferenceSid"), form("StatusCallbackEvent"), sequence},
		},
		{
			name: "room", marks: []string{"RoomSid", "StatusCallbackEvent"}, status: form("StatusCallbackEvent"),
			key: [][]field{form("RoomSid"), form("StatusCallbackEvent"), sequence},
		},
		{name: "message", marks: []string{"MessageSid", "MessageStatus"}, status: delivered, key: [][]field{message, delivered}},
		{name: "message", marks: []string{"MessageSid", "SmsStatus"}, status: delivered, key: [][]field{message, delivered}},
		{name: "message", marks: []string{"SmsSid", "SmsStatus"}, status: delivered, key: [][]field{message, delivered}},
		{
			name: "message", marks: []string{"MessageSid"}, without: "EventType", status: []field{fixed("received")},
			key: [][]field{message, {fixed("received")}},
		},
		{
			name: "call", marks: []string{"CallSid", "CallStatus"}, status: form("CallStatus"),
			key: [][]field{form("CallSid"), form("CallStatus")}, also: sequence,
		},
	}
}

func twilioEvents(r *Request) ([]Event, error) {
	d := &document{r: r}
	if !isForm(r) {
		return twilioStream(d)
	}
	form, err := d.form()
	if err != nil {
		return nil, err
	}
	for _, c := range twilioCallbacks() {
		if !c.describes(form) {
			continue
		}
		if c.name == "call" && asksForTwiML(form) {
			return nil, nil
		}
		return c.events(d)
	}
	return nil, &EventError{Message: "the form names no resource with a status (MessageSid and MessageStatus, CallSid and CallStatus, ...)"}
}

// asksForTwiML tells a call that asks what to do next, once for each step of
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

func (c callback) events(d *document) ([]Event, error) {
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
		if part := f.optional(d); part != "" {
			parts = append(parts, part)
		}
	}
	kind := c.name + "." + status
	if len(kind) > maxText {
		return nil, &EventError{Message: "the event type is longer than 255 bytes"}
	}
	return []Event{{ID: join(parts...), Type: kind, APIVersion: inForm("ApiVersion").optional(d), OccurredAt: twilioTime(d)}}, nil
}

// firstOf returns the first of some texts that is there, and the error of the
// first one when none is.
func firstOf(d *document, fields []field) (string, error) {
	var first error
	for _, f := range fields {
		text, err := f.text(d)
		if err == nil {
			return text, nil
		}
		if first == nil {
			first = err
		}
	}
	return "", first
}

// twilioTime reads the time of a callback: calls have one as in e-mail,
// conversations as in RFC 3339, messages none.
func twilioTime(d *document) time.Time {
	for _, f := range []field{inForm("Timestamp"), inForm("DateRemoved"), inForm("DateUpdated"), inForm("DateCreated")} {
		text := f.optional(d)
		for _, layout := range []string{time.RFC1123Z, time.RFC3339Nano} {
			if t, err := time.Parse(layout, text); err == nil {
				return t.UTC()
			}
		}
	}
	return time.Time{}
}

// twilioStream reads Event Streams: a CloudEvent, or an array of them.
func twilioStream(d *document) ([]Event, error) {
	root, err := d.json()
	if err != nil {
		return nil, err
	}
	cloudEvent := facts{id: verbatim(at("/id")), kind: at("/type"), version: at("/specversion"), occurred: clock{Pointer: "/time"}}
	if !root.IsArray() {
		return cloudEvent.of(d)
	}
	return each("", cloudEvent.of)(d)
}
