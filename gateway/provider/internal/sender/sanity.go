package sender

import (
	"cmp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// Sanity declares GROQ-powered webhooks. The webhook's projection determines the body; headers
// contain the fields that we need. Source: sanity.io/docs/webhooks and its changelog of
// 2026-04-29; sanity-io/webhook-toolkit src and test/signature.test.ts.
func Sanity(o provider.Options) (*provider.Provider, error) {
	key, operation, committed := proof.InHeader("Idempotency-Key"), proof.InHeader("Sanity-Operation"), proof.InHeader("Sanity-Transaction-Time")
	s := proof.TimedBody("Sanity-Webhook-Signature", proof.Milliseconds, proof.Tolerance(o, proof.StandardTolerance))
	s.Encoding, s.Single = proof.Base64Bare, []string{key.Header, operation.Header, committed.Header}
	f := proof.Facts{
		ID:       proof.Verbatim(key),
		Kind:     operation,
		Fallback: proof.Fixed(proof.UnknownType),
		Detail:   proof.At("/_type"),
		NeedJSON: true,
	}
	return proof.SignedBy(s, &provider.Provider{
		Name:           "sanity",
		Title:          "Sanity",
		HeaderFamilies: []string{"Idempotency-Key", "Sanity-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation | provider.Vector,
				EventID:     provider.Nobody,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Nobody,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA256 over the time in milliseconds and the body, in base64url, in the header sanity-webhook-signature.",
			KeyRule: "The header idempotency-key.",
			Setup: []string{
				"Open the project at sanity.io/manage, API, Create webhook. Enter the URL {url}, the method POST, and a filter as narrow " +
					"as possible.",
				"Under Advanced, set a secret that you generated: it is the secret of the source.",
			},
			Notes: []string{
				"The type is the operation and, if the projection has it, _type: create.post, update.post, delete.post.",
				"Sanity retries twice, 30 s apart, only after 429 and 5xx.",
				"Unconfirmed: both retries carry the same idempotency-key, each is signed with a new time, and Sanity waits for 30 s.",
				"The id is not signed, but the time is: a captured request can be resent under another id for 5 minutes only.",
			},
			Backfill: "A GROQ query with _updatedAt > $time returns the current state, not the events.",
			Docs:     "https://www.sanity.io/docs/webhooks",
		},
		Events: func(r *provider.Request) ([]provider.Event, error) {
			events, err := f.Events(r)
			if err != nil {
				return nil, err
			}
			events[0].OccurredAt = proof.HeaderTime(r, committed)
			return events, nil
		},
		Sample:      sampleSanity,
		Deadline:    30 * time.Second,
		RetryWindow: 5 * time.Minute,
	}), nil
}

func sampleSanity(eventType, id string, now time.Time) *provider.Request {
	operation, kind, _ := strings.Cut(cmp.Or(eventType, "create.post"), ".")
	at := now.UTC().Format(time.RFC3339Nano)
	body := proof.Object{
		"_id": "1c1e1ff4-3d5a-4b8e-9f0a-demo", "_rev": proof.FreshID(""), "_createdAt": at, "_updatedAt": at,
		"title": "Hello from Hooklatch", "slug": proof.Object{"current": "hello"},
	}
	if kind != "" {
		body["_type"] = kind
	}
	return proof.SampleJSON(body,
		"Idempotency-Key", cmp.Or(id, uuid.NewString()),
		"Sanity-Operation", operation,
		"Sanity-Document-Id", "1c1e1ff4-3d5a-4b8e-9f0a-demo",
		"Sanity-Project-Id", "abc12345",
		"Sanity-Dataset", "production",
		"Sanity-Webhook-Id", "HBzcFxXyMp7zRfJi",
		"Sanity-Transaction-Id", proof.FreshID(""),
		"Sanity-Transaction-Time", at)
}
