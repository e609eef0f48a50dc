package sender

import (
	"cmp"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// Postmark declares Postmark's webhooks, which are not signed. Postmark sends a user name and a
// password with basic authentication. Source: postmarkapp.com/developer/webhooks/webhooks-overview.
func Postmark(provider.Options) (*provider.Provider, error) {
	t := &proof.StaticToken{Header: proof.Authorization, Prefix: proof.Basic, Basic: true}
	return &provider.Provider{
		Name:          "postmark",
		Title:         "Postmark",
		About:         aboutPostmark(),
		Verify:        t.Verify,
		Challenge:     proof.ChallengeOf(t.Header, t.Prefix),
		Events:        postmarkEvents,
		CheckSecret:   t.CheckConfigured,
		Sign:          t.Sign,
		Sample:        samplePostmark,
		SecretHeaders: []string{proof.Authorization},
		NormalSecret:  t.Normal,
		MaxBody:       50 << 20, // inbound email: 35 MB, in base64
		Deadline:      2 * time.Minute,
		RetryWindow:   12 * time.Hour,
	}, nil
}

func aboutPostmark() provider.About {
	return provider.About{
		Confirmed: provider.Confirmed{
			Signature:   provider.Others,
			EventID:     provider.Nobody,
			Handshake:   provider.NoSuchThing,
			RetryWindow: provider.Others,
			Resend:      provider.Nobody,
		},
		Signing: "Nothing is signed: the request carries a user name and a password (basic authentication). They are compared in constant time.",
		KeyRule: "Postmark sends no event id. Bounces and spam complaints: RecordType and ID. Inbound mail: MessageID. Other records: a " +
			"hash of the whole body. MessageID alone identifies the mail, not the event.",
		Setup: []string{
			"Choose a user name and a long random password; the secret of the source is both, as user:password.",
			"Open the message stream, Webhooks in Postmark and add a webhook with the URL {url}. Enter the user name and the password " +
				"under Basic auth credentials.",
			"For inbound mail, set the same user name and password in the settings of the inbound stream, as " +
				"https://user:password@host/path.",
		},
		Notes: []string{
			proof.KeyHasMore,
			"Anyone who sees one request can forge any other. In front of the gateway, allow only Postmark's addresses.",
			"One delivery is one event.",
			"Unconfirmed: records other than bounces and inbound mail are retried after 1, 5 and 15 minutes. Bounces and inbound mail " +
				"are retried ten times within several hours.",
		},
		Backfill: "GET /bounces and GET /messages/outbound go back 45 days (unconfirmed).",
		Docs:     "https://postmarkapp.com/developer/webhooks/webhooks-overview",
	}
}

// postmarkTimes returns the time's location for each RecordType.
func postmarkTimes() map[string]string {
	return map[string]string{
		"Bounce": "/BouncedAt", "SpamComplaint": "/BouncedAt", "Delivery": "/DeliveredAt", "Open": "/ReceivedAt", "Click": "/ReceivedAt",
		"SubscriptionChange": "/ChangedAt",
	}
}

func postmarkEvents(r *provider.Request) ([]provider.Event, error) {
	d := &proof.Document{R: r}
	kind := proof.At("/RecordType")
	name, err := d.At(kind.Pointer)
	if err != nil {
		return nil, err
	}
	if !name.Exists() && proof.At("/MessageID").Optional(d) != "" { // only inbound email has no RecordType
		return proof.Facts{ID: proof.Composite(proof.Fixed("Inbound"), proof.At("/MessageID")), Kind: proof.Fixed("Inbound")}.Of(d)
	}
	f := proof.Facts{ID: proof.Whole(), Kind: kind, Occurred: proof.Clock{Pointer: postmarkTimes()[name.Str]}}
	if name.Str == "Bounce" || name.Str == "SpamComplaint" {
		f.ID = proof.OrWhole(proof.Composite(kind, proof.At("/ID")))
	}
	return f.Of(d)
}

func samplePostmark(eventType, id string, now time.Time) *provider.Request {
	eventType = cmp.Or(eventType, "Delivery")
	at := now.UTC().Format(time.RFC3339)
	body := proof.Object{
		"RecordType": eventType, "ServerID": 23, "MessageStream": "outbound", "MessageID": cmp.Or(id, uuid.NewString()), "Tag": "receipt",
		"Recipient": "jon@example.com", "Metadata": proof.Object{},
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
	return proof.SampleJSON(body)
}
