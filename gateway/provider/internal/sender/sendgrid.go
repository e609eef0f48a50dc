package sender

import (
	"cmp"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// SendGrid declares Twilio SendGrid's Event Webhook, with its signature turned on. Source:
// docs.sendgrid.com, "Event Webhook Security Features"; sendgrid/sendgrid-nodejs,
// packages/eventwebhook.
func SendGrid(o provider.Options) (*provider.Provider, error) {
	s := &proof.Scheme{
		Headers: []proof.HeaderNames{{
			Signature: "X-Twilio-Email-Event-Webhook-Signature", Timestamp: "X-Twilio-Email-Event-Webhook-Timestamp",
		}},
		Encoding: proof.Base64,
		Template: proof.Template{proof.InTimestamp, proof.InBody},
		Public:   proof.ECDSAKeys(),
		Unit:     proof.Seconds,
		// The tolerance is off by default. The ids are signed, and it is not documented
		// whether a retry hours later carries a new time.
		Tolerance: proof.Tolerance(o, 0),
	}
	id := proof.Verbatim(proof.At("/sg_event_id"))
	withoutID := proof.Whole("/sg_event_id")
	f := proof.Facts{
		ID: func(d *proof.Document) (string, error) {
			if value, err := proof.At("/sg_event_id").Find(d); err == nil && value == "" {
				return withoutID(d)
			}
			return id(d)
		},
		Kind: proof.At("/event"), Occurred: proof.Clock{Pointer: "/timestamp", Unit: proof.Seconds},
	}
	return proof.SignedBy(s, &provider.Provider{
		Name:           "sendgrid",
		Title:          "Twilio SendGrid",
		HeaderFamilies: []string{"X-Twilio-Email-Event-Webhook-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation | provider.Vector | provider.SDK,
				EventID:     provider.Documentation,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Documentation,
				Resend:      provider.Nobody,
			},
			Signing: "ECDSA (P-256, SHA-256) of the time and the body in the header X-Twilio-Email-Event-Webhook-Signature.",
			KeyRule: "sg_event_id of each event. For a test event without sg_event_id: a hash of the whole event. " +
				"sg_message_id and smtp-id belong to the mail, not to the event.",
			Setup: []string{
				"Open Settings, Mail Settings, Event Webhooks and create a webhook with the Post URL {url}.",
				"Turn on Signature Verification, and use the verification key shown then, unchanged, as the secret of the source. It is " +
					"a public key; to sign tests with `send`, use an EC private key (P-256) instead.",
				"Select the events, enable the webhook and save.",
			},
			Notes: []string{
				"One delivery carries many events, in any order, and some arrive more than once.",
				"SendGrid gives up on an event 24 hours after it happened.",
				"No tolerance for the signed time is documented, so none is checked unless the source sets one.",
				"Inbound Parse is a multipart form and is not signed: receive it with `provider: basic`, `event_id: {fields: [\"form:envelope\"], " +
					"optional: [\"form:headers\", \"form:email\"]}` and `type: {fixed: inbound}`. Raw mail is in the field email, parsed mail has the field headers.",
				"Unconfirmed: batches have up to 768 kB, and the deadline is about 10 seconds.",
			},
			Docs: "https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features",
		},
		Events:      proof.Each("", f.Of).Events,
		Sample:      sampleSendGrid,
		MaxBody:     2 << 20,
		Deadline:    10 * time.Second,
		RetryWindow: proof.Day,
	}), nil
}

func sampleSendGrid(eventType, id string, now time.Time) *provider.Request {
	message := proof.FreshID("")
	return proof.SampleJSON([]proof.Object{{
		"email": "jon@example.com", "timestamp": now.Unix(), "event": cmp.Or(eventType, "delivered"), "sg_event_id": cmp.Or(id, proof.FreshID("")),
		"sg_message_id": message + ".recvd-5f9c7b-1", "smtp-id": "<" + message + "@hooklatch.example.com>", "category": []string{"receipt"},
		"response": "250 OK",
	}})
}
