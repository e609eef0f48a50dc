package provider

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
)

// zendeskEvents begins the types of the events a webhook can subscribe to. The
// bodies of other webhooks are written by the user: their id may be a ticket.
const zendeskEvents = "zen:event-type:"

// newZendesk knows Zendesk's webhooks: those subscribed to events, and those
// that triggers and automations call.
// Source: developer.zendesk.com/documentation/webhooks/verifying.
func newZendesk(o Options) (*Provider, error) {
	invocation := inHeader("X-Zendesk-Webhook-Invocation-Id")
	s := &scheme{
		headers: []headerNames{{
			signature: "X-Zendesk-Webhook-Signature", timestamp: "X-Zendesk-Webhook-Signature-Timestamp",
		}},
		hash:      sha256.New,
		encoding:  base64Std,
		template:  template{inTimestamp, inBody},
		secret:    keySpelling{encoding: rawBytes},
		unit:      rfc3339,
		tolerance: tolerance(o, standardTolerance),
		single:    []string{invocation.Header},
	}
	f := facts{
		id: func(d *document) (string, error) {
			if strings.HasPrefix(at("/type").optional(d), zendeskEvents) {
				return verbatim(at("/id"))(d)
			}
			return verbatim(invocation)(d)
		},
		kind: at("/type"), fallback: fixed(unknownType), version: at("/zendesk_event_version"), occurred: clock{Pointer: "/time"},
	}
	return &Provider{
		Name:  "zendesk",
		Title: "Zendesk",
		About: About{
			Confirmed: Unconfirmed,
			Signing:   "HMAC-SHA256 of the time and the body in the header X-Zendesk-Webhook-Signature.",
			KeyRule: "Webhooks subscribed to events: id in the body. Others, whose body you write yourself: the header " +
				"X-Zendesk-Webhook-Invocation-Id. X-Zendesk-Webhook-Id belongs to the webhook, not to the event.",
			Setup: []string{
				"Open Apps and integrations, Webhooks in the Admin Center and create a webhook with the endpoint URL {url}.",
				"Choose Zendesk events, or Trigger or automation and connect it to one.",
				"Reveal the signing secret of the webhook and use it, as it is shown, for the secret of the source.",
			},
			Notes: []string{
				"A test before the webhook is saved is signed with another, public secret: do not add that to the source.",
				"The invocation id is not signed: whoever saw a delivery can send it again under another id until its time is too old. The replay guard sees that.",
				"Zendesk retries only after 409, 429 and 503, a few times, and stops calling an endpoint that often fails (unconfirmed).",
				"Unconfirmed: that the invocation id stays the same over retries, and the deadline of 10 seconds.",
			},
			Backfill: "The incremental export of tickets.",
			Docs:     "https://developer.zendesk.com/documentation/webhooks/",
		},
		Verify:      s.verify,
		Events:      f.events,
		Methods:     []string{http.MethodPost},
		CheckSecret: s.checkSecret,
		Sign:        s.sign,
		Sample:      sampleZendesk,
		UnsignedID:  true, // of what triggers and automations send
		ReplayToken: s.replayToken,
		Deadline:    10 * time.Second,
		RetryWindow: 5 * time.Minute,
	}, nil
}

func sampleZendesk(eventType, id string, now time.Time) *Request {
	return sampleJSON(object{
		"id": cmp.Or(id, uuid.NewString()), "type": cmp.Or(eventType, zendeskEvents+"ticket.created"), "account_id": 22129848,
		"subject": "zen:ticket:5158", "time": now.UTC().Format(time.RFC3339Nano), "zendesk_event_version": "2022-11-06",
		"event": object{},
		"detail": object{
			"id": "5158", "subject": "Where is my order?", "status": "NEW", "priority": "NORMAL", "created_at": now.UTC().Format(time.RFC3339),
		},
	},
		"X-Zendesk-Webhook-Invocation-Id", cmp.Or(id, freshID("")),
		"X-Zendesk-Webhook-Id", "01GTSNPXRMKW5NJVCTNVQ6JFRH",
		"X-Zendesk-Account-Id", "22129848")
}
