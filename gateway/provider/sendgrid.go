package provider

import (
	"cmp"
	"net/http"
	"time"
)

// newSendGrid knows the Event Webhook of Twilio SendGrid, with its signature
// turned on.
// Source: docs.sendgrid.com, "Event Webhook Security Features";
// sendgrid/sendgrid-nodejs, packages/eventwebhook.
func newSendGrid(o Options) (*Provider, error) {
	s := &scheme{
		headers: []headerNames{{
			signature: "X-Twilio-Email-Event-Webhook-Signature", timestamp: "X-Twilio-Email-Event-Webhook-Timestamp",
		}},
		encoding: base64Std,
		template: template{inTimestamp, inBody},
		public:   ecdsaKeys(),
		unit:     seconds,
		// Off: the ids are signed, and whether a retry hours later carries a
		// new time is not documented.
		tolerance: tolerance(o, 0),
	}
	id := verbatim(at("/sg_event_id"))
	withoutID := hashedSome(
		[]field{at("/event"), at("/email"), at("/timestamp")},
		at("/sg_message_id"), at("/smtp-id"), at("/url"), at("/reason"), at("/attempt"), at("/status"),
	)
	f := facts{
		id: func(d *document) (string, error) {
			if value, err := d.at("/sg_event_id"); err == nil && !value.Exists() {
				return withoutID(d)
			}
			return id(d)
		},
		kind: at("/event"), occurred: clock{Pointer: "/timestamp", unit: seconds},
	}
	return &Provider{
		Name:  "sendgrid",
		Title: "Twilio SendGrid",
		About: About{
			Confirmed: Unconfirmed,
			Signing:   "ECDSA (P-256, SHA-256) of the time and the body in the header X-Twilio-Email-Event-Webhook-Signature.",
			KeyRule: "sg_event_id of each event; where a test leaves it out, a hash of the event, address, time and ids of the message. " +
				"sg_message_id and smtp-id belong to the mail, not to the event.",
			Setup: []string{
				"Open Settings, Mail Settings, Event Webhooks and create a webhook with the Post URL {url}.",
				"Turn on Signature Verification, and use the verification key shown then, as it is, for the secret of the source. It is a public " +
					"key; to sign tests with `send`, use an EC private key (P-256) in its place.",
				"Select the events, enable the webhook and save.",
			},
			Notes: []string{
				"One delivery carries many events, in no order, and some come more than once.",
				"SendGrid gives up on an event 24 hours after it happened.",
				"No tolerance for the signed time is documented, so none is checked unless the source sets one.",
				"Inbound Parse is not signed: use the provider basic or token for it.",
				"Unconfirmed: batches of up to 768 kB, and a deadline of about 10 seconds.",
			},
			Docs: "https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features",
		},
		Verify:      s.verify,
		Events:      each("", f.of).events,
		Methods:     []string{http.MethodPost},
		CheckSecret: s.checkSecret,
		Sign:        s.sign,
		Sample:      sampleSendGrid,
		MaxBody:     2 << 20,
		Deadline:    10 * time.Second,
		RetryWindow: day,
	}, nil
}

func sampleSendGrid(eventType, id string, now time.Time) *Request {
	message := freshID("")
	return sampleJSON([]object{{
		"email": "jon@example.com", "timestamp": now.Unix(), "event": cmp.Or(eventType, "delivered"), "sg_event_id": cmp.Or(id, freshID("")),
		"sg_message_id": message + ".recvd-5f9c7b-1", "smtp-id": "<" + message + "@hooklatch.example.com>", "category": []string{"receipt"},
		"response": "250 OK",
	}})
}
