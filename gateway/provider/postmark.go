package provider

import (
	"cmp"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// newPostmark knows Postmark's webhooks, which are not signed: the URL carries
// a user and a password.
// Source: postmarkapp.com/developer/webhooks/webhooks-overview.
func newPostmark(Options) (*Provider, error) {
	t := &staticToken{header: authorization, prefix: "Basic ", basic: true}
	return &Provider{
		Name:          "postmark",
		Title:         "Postmark",
		About:         aboutPostmark(),
		Verify:        t.verify,
		Events:        postmarkEvents,
		Methods:       []string{http.MethodPost},
		CheckSecret:   t.checkConfigured,
		Sign:          t.sign,
		Sample:        samplePostmark,
		SecretHeaders: []string{authorization},
		MaxBody:       50 << 20, // of inbound mail: 35 MB, in base64
		Deadline:      2 * time.Minute,
		RetryWindow:   12 * time.Hour,
	}, nil
}

func aboutPostmark() About {
	return About{
		Confirmed: Unconfirmed,
		Signing:   "Nothing is signed: the request carries user and password (basic authentication). They are compared in constant time.",
		KeyRule: "Postmark sends no event id. Bounces and spam complaints: RecordType and ID. Inbound mail: MessageID. The others: a hash of " +
			"RecordType, MessageID, Recipient and the time, and of the link that was clicked. MessageID alone belongs to the mail. " +
			"A kind of record that is not known: a hash of the whole body.",
		Setup: []string{
			"Make up a user and a long random password; the secret of the source is both, as user:password.",
			"Open the message stream, Webhooks in Postmark and add a webhook with the URL {url} and that user and password under Basic auth credentials.",
			"For inbound mail, set the same in the settings of the inbound stream, as https://user:password@host/path.",
		},
		Notes: []string{
			"Whoever sees one request can make any other: allow only Postmark's addresses in front of the gateway as well.",
			"One delivery is one event.",
			"Unconfirmed: that records other than bounces and inbound mail are retried after 1, 5 and 15 minutes. Bounces and inbound mail are " +
				"retried ten times within some hours.",
		},
		Backfill: "GET /bounces and GET /messages/outbound, for 45 days (unconfirmed).",
		Docs:     "https://postmarkapp.com/developer/webhooks/webhooks-overview",
	}
}

// postmarkRecord says for a RecordType what its key is made of beside it, and
// where its time stands.
type postmarkRecord struct {
	key      []field
	occurred string
}

func postmarkRecords() map[string]postmarkRecord {
	message, recipient := at("/MessageID"), at("/Recipient")
	return map[string]postmarkRecord{
		"Bounce":             {[]field{at("/ID")}, "/BouncedAt"},
		"SpamComplaint":      {[]field{at("/ID")}, "/BouncedAt"},
		"Delivery":           {[]field{message, recipient, at("/DeliveredAt")}, "/DeliveredAt"},
		"Open":               {[]field{message, recipient, at("/ReceivedAt")}, "/ReceivedAt"},
		"Click":              {[]field{message, recipient, at("/ReceivedAt"), at("/OriginalLink")}, "/ReceivedAt"},
		"SubscriptionChange": {[]field{message, recipient, at("/ChangedAt"), at("/SuppressSending")}, "/ChangedAt"},
	}
}

func postmarkEvents(r *Request) ([]Event, error) {
	d := &document{r: r}
	kind := at("/RecordType")
	name, err := d.at(kind.Pointer)
	if err != nil {
		return nil, err
	}
	if !name.Exists() { // only inbound mail has none
		return facts{id: composite(fixed("Inbound"), at("/MessageID")), kind: fixed("Inbound")}.of(d)
	}
	record, known := postmarkRecords()[name.Str]
	f := facts{id: hashed(at("")), kind: kind, occurred: clock{Pointer: record.occurred}}
	switch {
	case known && len(record.key) == 1:
		f.id = composite(kind, record.key[0])
	case known:
		f.id = hashed(append([]field{kind}, record.key...)...)
	}
	return f.of(d)
}

func samplePostmark(eventType, id string, now time.Time) *Request {
	eventType = cmp.Or(eventType, "Delivery")
	at := now.UTC().Format(time.RFC3339)
	body := object{
		"RecordType": eventType, "ServerID": 23, "MessageStream": "outbound", "MessageID": cmp.Or(id, uuid.NewString()), "Tag": "receipt",
		"Recipient": "jon@example.com", "Metadata": object{},
	}
	switch eventType {
	case "Bounce", "SpamComplaint":
		var number any = now.UnixNano() / 1000
		if id != "" {
			number = id
		}
		body["ID"], body["Email"], body["BouncedAt"] = number, "jon@example.com", at
		body["Type"], body["Name"], body["Description"] = "HardBounce", "Hard bounce", "The server was unable to deliver your message."
	case "Delivery":
		body["DeliveredAt"], body["Details"] = at, "Test delivery webhook details"
	case "Open":
		body["ReceivedAt"], body["FirstOpen"] = at, true
	case "Click":
		body["ReceivedAt"], body["OriginalLink"] = at, "https://example.com/"
	case "SubscriptionChange":
		body["ChangedAt"], body["SuppressSending"], body["Origin"] = at, true, "Recipient"
	case "Inbound":
		delete(body, "RecordType")
		delete(body, "Recipient")
		body["MessageStream"], body["From"], body["To"] = "inbound", "jon@example.com", "inbox@inbound.example.com"
		body["Subject"], body["TextBody"], body["Date"] = "Hello", "Where is my order?", now.UTC().Format(time.RFC1123Z)
	}
	return sampleJSON(body)
}
