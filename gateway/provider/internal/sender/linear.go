package sender

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// linearTolerance exceeds Linear's retry window. Linear does not document whether a retry gets a
// new time, and a short tolerance could refuse all retries.
const linearTolerance = 8 * time.Hour

// Linear declares Linear's webhooks, whose signature covers a time inside the body. Source:
// linear.app/developers/webhooks; @linear/sdk, LinearWebhookClient.
func Linear(o provider.Options) (*provider.Provider, error) {
	id, sentAt := proof.InHeader("Linear-Delivery"), proof.Clock{Pointer: "/webhookTimestamp", Unit: proof.Milliseconds}
	s := proof.SignedBody("Linear-Signature", "", proof.Hex)
	s.Single = []string{id.Header}
	f := proof.Facts{ID: proof.Verbatim(id), Kind: proof.At("/type"), Detail: proof.At("/action"), Occurred: proof.Clock{Pointer: "/createdAt"}}
	tolerance := proof.Tolerance(o, linearTolerance)
	return &provider.Provider{
		Name:           "linear",
		Title:          "Linear",
		HeaderFamilies: []string{"Linear-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation | provider.SDK,
				EventID:     provider.Others,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Others,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA256 of the body in the header Linear-Signature; the body says when it was sent (webhookTimestamp).",
			KeyRule: "The header Linear-Delivery. webhookId in the body belongs to the webhook, not to the event.",
			Setup: []string{
				"Open Settings, API, Webhooks in Linear and create a webhook with the URL {url}.",
				"Use its signing secret as the secret of the source.",
			},
			Notes: []string{
				"The id is not signed: anyone who saw a delivery can resend it under another id within the tolerance. The replay guard detects that.",
				"Linear retries after 1 minute, 1 hour and 6 hours, and does not document that a retry carries a new time. The tolerance " +
					"is therefore 8 hours by default; Linear's own library allows one minute, which may refuse every retry.",
				"The header Linear-Timestamp is not signed, so Hooklatch ignores it.",
			},
			Backfill: "The GraphQL API lists objects, filtered by updatedAt.",
			Docs:     "https://linear.app/developers/webhooks",
		},
		Verify: func(ctx context.Context, r *provider.Request, secrets []secret.Value, now time.Time) (provider.Verified, error) {
			v, err := s.Verify(ctx, r, secrets, now)
			if err != nil {
				return v, err
			}
			if v.SignedAt = sentAt.Time(&proof.Document{R: r}); v.SignedAt.IsZero() {
				return v, nil // only Linear can leave the time out of a signed body
			}
			return v, proof.Within(v.SignedAt, now, tolerance)
		},
		Events:      f.Events,
		CheckSecret: s.CheckSecret,
		Sign:        s.Sign,
		Sample:      sampleLinear,
		UnsignedID:  true,
		ReplayToken: s.ReplayToken,
		Deadline:    5 * time.Second,
		RetryWindow: 7*time.Hour + time.Minute,
	}, nil
}

func sampleLinear(eventType, id string, now time.Time) *provider.Request {
	kind, action, ok := strings.Cut(cmp.Or(eventType, "Issue.create"), ".")
	at := now.UTC().Format(time.RFC3339Nano)
	body := proof.Object{
		"type": kind, "createdAt": at, "organizationId": "b1f4c1a8-6c3c-4f5e-9a57-2f0f7d0f6f1e", "webhookTimestamp": now.UnixMilli(),
		"webhookId": "8e2f2c39-6e3b-4f0e-8c75-5c1b1a3f2f10", "url": "https://linear.app/hooklatch/issue/HL-1/found-a-bug",
		"actor": proof.Object{"id": "2f1d6a3e-7b51-4c4e-9f2b-0c9f5f5f9a11", "type": "user", "name": "Ada Lovelace"},
		"data":  proof.Object{"id": uuid.NewString(), "identifier": "HL-1", "title": "Found a bug", "priority": 2, "createdAt": at, "updatedAt": at},
	}
	if ok {
		body["action"] = action
	}
	return proof.SampleJSON(body, "Linear-Delivery", cmp.Or(id, uuid.NewString()), "Linear-Event", kind)
}
