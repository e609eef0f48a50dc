package provider

import (
	"cmp"
	"context"
	"crypto/sha256"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// linearTolerance is longer than Linear retries: whether a retry gets a new
// time is not documented, and a short tolerance would drop all of them.
const linearTolerance = 8 * time.Hour

// newLinear knows Linear's webhooks, which sign the time inside the body.
// Source: linear.app/developers/webhooks; @linear/sdk, LinearWebhookClient.
func newLinear(o Options) (*Provider, error) {
	id, sentAt := inHeader("Linear-Delivery"), clock{Pointer: "/webhookTimestamp", unit: milliseconds}
	s := &scheme{
		headers:  []headerNames{{signature: "Linear-Signature"}},
		hash:     sha256.New,
		encoding: hexDigits,
		template: template{inBody},
		secret:   keySpelling{encoding: rawBytes},
		single:   []string{id.Header},
	}
	f := facts{id: verbatim(id), kind: at("/type"), detail: at("/action"), occurred: clock{Pointer: "/createdAt"}}
	tolerance := tolerance(o, linearTolerance)
	return &Provider{
		Name:  "linear",
		Title: "Linear",
		About: About{
			Confirmed: Secondary,
			Signing:   "HMAC-SHA256 of the body in the header Linear-Signature; the body says when it was sent (webhookTimestamp).",
			KeyRule:   "The header Linear-Delivery. webhookId in the body belongs to the webhook, not to the event.",
			Setup: []string{
				"Open Settings, API, Webhooks in Linear and create a webhook with the URL {url}.",
				"Use its signing secret for the secret of the source.",
			},
			Notes: []string{
				"The id is not signed: whoever saw a delivery can send it again under another id for as long as tolerance says. The replay guard finds that.",
				"Retries come after 1 minute, 1 hour and 6 hours, and it is not documented that they carry a new time. That is why tolerance is " +
					"8 hours by default; Linear's own library takes one minute, which may refuse every retry.",
				"The header Linear-Timestamp is not signed and not used.",
			},
			Backfill: "The GraphQL API, filtered by updatedAt.",
			Docs:     "https://linear.app/developers/webhooks",
		},
		Verify: func(ctx context.Context, r *Request, secrets []secret.Value, now time.Time) (Verified, error) {
			v, err := s.verify(ctx, r, secrets, now)
			if err != nil {
				return v, err
			}
			if v.SignedAt = sentAt.time(&document{r: r}); v.SignedAt.IsZero() {
				return v, nil // nobody but Linear can leave it out
			}
			return v, within(v.SignedAt, now, tolerance)
		},
		Events:      f.events,
		Methods:     []string{http.MethodPost},
		CheckSecret: s.checkSecret,
		Sign:        s.sign,
		Sample:      sampleLinear,
		UnsignedID:  true,
		ReplayToken: s.replayToken,
		Deadline:    5 * time.Second,
		RetryWindow: 7*time.Hour + time.Minute,
	}, nil
}

func sampleLinear(eventType, id string, now time.Time) *Request {
	kind, action, ok := strings.Cut(cmp.Or(eventType, "Issue.create"), ".")
	at := now.UTC().Format(time.RFC3339Nano)
	body := object{
		"type": kind, "createdAt": at, "organizationId": "b1f4c1a8-6c3c-4f5e-9a57-2f0f7d0f6f1e", "webhookTimestamp": now.UnixMilli(),
		"webhookId": "8e2f2c39-6e3b-4f0e-8c75-5c1b1a3f2f10", "url": "https://linear.app/hooklatch/issue/HL-1/found-a-bug",
		"actor": object{"id": "2f1d6a3e-7b51-4c4e-9f2b-0c9f5f5f9a11", "type": "user", "name": "Ada Lovelace"},
		"data":  object{"id": uuid.NewString(), "identifier": "HL-1", "title": "Found a bug", "priority": 2, "createdAt": at, "updatedAt": at},
	}
	if ok {
		body["action"] = action
	}
	return sampleJSON(body, "Linear-Delivery", cmp.Or(id, uuid.NewString()), "Linear-Event", kind)
}
