package sender

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// zendeskEvents is the prefix of the event types to which a webhook can subscribe. Users write
// the bodies of other webhooks, so an id in such a body may belong to a ticket and not to an event.
const zendeskEvents = "zen:event-type:"

// Zendesk declares two kinds of Zendesk webhooks: webhooks subscribed to events, and webhooks
// that triggers and automations call. Source:
// developer.zendesk.com/documentation/webhooks/verifying and /anatomy-of-a-webhook-request;
// support.zendesk.com, "Creating webhooks to interact with third-party systems".
func Zendesk(o provider.Options) (*provider.Provider, error) {
	invocation := proof.InHeader("X-Zendesk-Webhook-Invocation-Id")
	s := &proof.Scheme{
		Headers: []proof.HeaderNames{{
			Signature: "X-Zendesk-Webhook-Signature", Timestamp: "X-Zendesk-Webhook-Signature-Timestamp",
		}},
		Hash:      sha256.New,
		Encoding:  proof.Base64,
		Template:  proof.Template{proof.InTimestamp, proof.InBody},
		Secret:    proof.KeySpelling{Encoding: proof.Raw},
		Unit:      proof.RFC3339,
		Tolerance: proof.Tolerance(o, proof.StandardTolerance),
		Single:    []string{invocation.Header},
	}
	f := proof.Facts{
		ID: func(d *proof.Document) (string, error) {
			if strings.HasPrefix(proof.At("/type").Optional(d), zendeskEvents) {
				return proof.Verbatim(proof.At("/id"))(d)
			}
			return proof.Verbatim(invocation)(d)
		},
		Kind: proof.At("/type"), Fallback: proof.Fixed(proof.UnknownType), Version: proof.At("/zendesk_event_version"), Occurred: proof.Clock{Pointer: "/time"},
	}
	// The signature of a request without a body covers only the time, in whole seconds. The query
	// distinguishes two such requests in one second, so that neither looks like a replay.
	replayToken := func(r *provider.Request) string {
		token := s.ReplayToken(r)
		if token == "" || len(r.Body) > 0 || r.URL == nil {
			return token
		}
		return proof.HashOf(token, r.URL.RawQuery)
	}
	return proof.SignedBy(s, &provider.Provider{
		Name:           "zendesk",
		Title:          "Zendesk",
		HeaderFamilies: []string{"X-Zendesk-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Others,
				EventID:     provider.Nobody,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Nobody,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA256 of the time and the body in the header X-Zendesk-Webhook-Signature.",
			KeyRule: "Webhooks subscribed to events: id in the body. Others, whose body you write yourself: the header " +
				"X-Zendesk-Webhook-Invocation-Id. X-Zendesk-Webhook-Id belongs to the webhook, not to the event.",
			Setup: []string{
				"Open Apps and integrations, Webhooks in the Admin Center and create a webhook with the endpoint URL {url}.",
				"Choose Zendesk events. Or choose Trigger or automation, any method and format, and connect the webhook to one.",
				"Reveal the signing secret of the webhook and use it, as shown, as the secret of the source.",
			},
			Notes: []string{
				"A test before the webhook is saved is signed with a public secret: do not add this secret to the source.",
				"The invocation id is not signed: anyone who saw a delivery can resend it under another id until its time is too old. The replay guard detects that.",
				"A trigger's request with GET or DELETE, or form-encoded, may have no body. Hooklatch then stores the query of its URL as the body, a form.",
				"The query is not signed: anyone who saw a request without a body can resend it with another query and another id until its time is too old. Prefer POST with JSON.",
				"Zendesk retries only after 409, 429 and 503, a few times, and stops calling an endpoint that often fails (unconfirmed).",
				"Unconfirmed: the invocation id stays the same in all attempts, and the deadline is 10 seconds.",
			},
			Backfill: "The incremental export lists tickets.",
			Docs:     "https://developer.zendesk.com/documentation/webhooks/",
		},
		Methods:     []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, // all that triggers offer
		Content:     proof.QueryAsForm,
		Events:      f.Events,
		Sample:      sampleZendesk,
		UnsignedID:  true, // for triggers and automations
		ReplayToken: replayToken,
		Deadline:    10 * time.Second,
		RetryWindow: 5 * time.Minute,
	}), nil
}

func sampleZendesk(eventType, id string, now time.Time) *provider.Request {
	return proof.SampleJSON(proof.Object{
		"id": cmp.Or(id, uuid.NewString()), "type": cmp.Or(eventType, zendeskEvents+"ticket.created"), "account_id": 22129848,
		"subject": "zen:ticket:5158", "time": now.UTC().Format(time.RFC3339Nano), "zendesk_event_version": "2022-11-06",
		"event": proof.Object{},
		"detail": proof.Object{
			"id": "5158", "subject": "Where is my order?", "status": "NEW", "priority": "NORMAL", "created_at": now.UTC().Format(time.RFC3339),
		},
	},
		"X-Zendesk-Webhook-Invocation-Id", cmp.Or(id, proof.FreshID("")),
		"X-Zendesk-Webhook-Id", "01GTSNPXRMKW5NJVCTNVQ6JFRH",
		"X-Zendesk-Account-Id", "22129848")
}
