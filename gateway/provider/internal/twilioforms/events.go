package twilioforms

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/internal/payload"
)

// Token is the header by which Twilio identifies a callback across its attempts.
const Token = "I-Twilio-Idempotency-Token"

// callback is one kind of form that Twilio sends. Its sid identifies the resource, not the
// event, so the key also includes the values that change from one callback to the next.
type callback struct {
	name    string        // first part of the type
	marks   []string      // form fields that must all be present
	without string        // a form field that must be absent
	status  []proof.Field // second part of the type: the first field that is present
	// key lists the parts of the dedup key. Each part is the first field of its list that is
	// present. If no field of a list is present, byToken returns the key instead.
	key  [][]proof.Field
	also []proof.Field // parts added to the key if they are present
}

// callbacks lists the kinds, most specific first.
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
	partial, token := []proof.Field{proof.Fixed("partial")}, []proof.Field{proof.InHeader(Token)}
	return []callback{
		{
			name: "conversation", marks: []string{"ConversationSid", "EventType"}, status: form("EventType"),
			key: [][]proof.Field{
				form("EventType"), form("DeliveryReceiptSid", "MessageSid", "ParticipantSid", "ConversationSid"),
				// Each update repeats the sid, so a time must distinguish the updates. Twilio's
				// token distinguishes events without a time.
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
		// The partial results of a gather are numbered from 0, and so are the progress reports of
		// its call. A call may also have several gathers. Only the token distinguishes these
		// callbacks.
		{name: "speech", marks: []string{"CallSid", "StableSpeechResult"}, status: partial, key: [][]proof.Field{token}},
		{name: "speech", marks: []string{"CallSid", "UnstableSpeechResult"}, status: partial, key: [][]proof.Field{token}},
		{
			name: "call", marks: []string{"CallSid", "CallStatus"}, status: form("CallStatus"),
			key: [][]proof.Field{form("CallSid"), form("CallStatus")}, also: sequence,
		},
	}
}

// Events describes a verified delivery. A form is one event; a body from Event Streams is a
// CloudEvent or a list of them. A GET has its fields in its URL. A callback that only asks for
// TwiML is not an event.
func Events(r *provider.Request) ([]provider.Event, error) {
	d := &proof.Document{R: r}
	switch {
	case inURL(r):
		d.Fields = payload.ParseForm(r.URL.RawQuery)
	case !proof.IsForm(r):
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
		return c.events(d), nil
	}
	return []provider.Event{event(d, byToken, otherKind(d))}, nil
}

// inURL reports whether a callback's fields are in its URL.
func inURL(r *provider.Request) bool {
	return len(r.Body) == 0 && r.Method == http.MethodGet && r.URL != nil
}

// Content returns the form that a GET callback has in its URL, and nothing for any other request.
func Content(r *provider.Request) (contentType string, body []byte) {
	if !inURL(r) {
		return "", nil
	}
	return proof.QueryAsForm(r)
}

// byToken returns the key of a callback without an id or changing fields: Twilio's token,
// which identifies the callback across its attempts, or a hash of the form.
func byToken(d *proof.Document) string {
	if token := proof.InHeader(Token).Optional(d); token != "" {
		return token
	}
	id, err := proof.WholeForm(BodyHash)(d)
	if err != nil { // cannot happen: the form was read before
		return proof.HashOf(string(d.R.Body))
	}
	return id
}

// otherKind returns the type of a callback whose kind the function callbacks does not list. These
// are the callbacks of TaskRouter, answering machine detection, media streams, the debugger and
// bundles, and kinds that Twilio adds later.
func otherKind(d *proof.Document) string {
	for _, f := range []struct{ prefix, field string }{
		{"", "EventType"}, {"", "StreamEvent"}, {"", "StatusCallbackEvent"}, {"amd.", "AnsweredBy"}, {"debugger.", "Level"},
		{"bundle.", "Status"}, {"", "CallbackSource"},
	} {
		bundle := f.prefix != "bundle." || proof.InForm("BundleSid").Optional(d) != ""
		if text := proof.InForm(f.field).Optional(d); text != "" && bundle {
			return f.prefix + text
		}
	}
	return proof.UnknownType
}

func event(d *proof.Document, id func(*proof.Document) string, kind string) provider.Event {
	if len(kind) > proof.MaxText {
		kind = proof.UnknownType
	}
	return provider.Event{ID: id(d), Type: kind, APIVersion: proof.InForm("ApiVersion").Optional(d), OccurredAt: timeOf(d)}
}

// asksForTwiML reports whether a callback asks for the call's next instructions instead of
// reporting the call's progress. Such a callback is not an event.
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

func (c callback) events(d *proof.Document) []provider.Event {
	kind := proof.UnknownType
	if status, err := firstOf(d, c.status); err == nil {
		kind = c.name + "." + status
	}
	return []provider.Event{event(d, c.id, kind)}
}

// id returns a callback's key. If a part is missing, it returns byToken's key.
func (c callback) id(d *proof.Document) string {
	var parts []string
	for _, fields := range c.key {
		part, err := firstOf(d, fields)
		if err != nil {
			return byToken(d)
		}
		parts = append(parts, part)
	}
	for _, f := range c.also {
		if part := f.Optional(d); part != "" {
			parts = append(parts, part)
		}
	}
	return proof.Join(parts...)
}

// firstOf returns the text of the first field that is present, or the first field's error if
// none is.
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

// timeOf reads a callback's time. Calls use the email format, and conversations use RFC 3339.
// Messages have no time.
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

// stream reads Event Streams: a CloudEvent, or an array of them. For a JSON object without an
// id, the key is Twilio's token or the hash of the object.
func stream(d *proof.Document) ([]provider.Event, error) {
	root, err := d.JSON()
	if err != nil {
		return nil, err
	}
	cloudEvent := proof.Facts{ID: proof.Verbatim(proof.At("/id")), Kind: proof.At("/type"), Fallback: proof.At("/event_type"), Version: proof.At("/specversion"), Occurred: proof.Clock{Pointer: "/time"}}
	if root.IsArray() {
		return proof.Each("", cloudEvent.Of)(d)
	}
	if !proof.Lookup(root, "/id").Exists() {
		cloudEvent.ID = func(d *proof.Document) (string, error) {
			if token := proof.InHeader(Token).Optional(d); token != "" {
				return token, nil
			}
			return proof.Whole()(d)
		}
	}
	return cloudEvent.Of(d)
}
