package sender

import (
	"cmp"
	"crypto/sha256"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// Square declares Square, which signs the configured URL followed by the body. Source:
// developer.squareup.com/docs/webhooks, "Verify and validate an event notification";
// square-nodejs-sdk tests/integration/webhooks.test.ts.
func Square(provider.Options) (*provider.Provider, error) {
	s := &proof.Scheme{
		Headers:  []proof.HeaderNames{{Signature: "X-Square-Hmacsha256-Signature"}},
		Hash:     sha256.New,
		Encoding: proof.Base64,
		Template: proof.Template{proof.InURL, proof.InBody},
		Secret:   proof.KeySpelling{Encoding: proof.Raw},
	}
	f := proof.Facts{
		ID:       proof.Verbatim(proof.At("/event_id")),
		Kind:     proof.At("/type"),
		Occurred: proof.Clock{Pointer: "/created_at"},
	}
	return proof.SignedBy(s, &provider.Provider{
		Name:           "square",
		Title:          "Square",
		HeaderFamilies: []string{"Square-*", "X-Square-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation | provider.Vector | provider.SDK,
				EventID:     provider.Documentation,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Documentation,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA256 over the notification URL followed by the body, in base64, in the header " +
				"`X-Square-HmacSha256-Signature`. No time is signed.",
			KeyRule: "`/event_id` of the body, Square's own idempotency value.",
			Setup: []string{
				"Open the application in the Developer Console, Webhooks, Subscriptions, Add subscription. Enter the URL {url}, and " +
					"choose the API version and the events.",
				"The subscription shows the signature key: it is the secret of the source.",
				"Set `public_url` of the source to exactly the URL shown there, or `gateway.public_url` to its part before /webhooks: every byte of the URL is signed.",
			},
			Notes: []string{
				"Sandbox and production have separate subscriptions and keys: use two sources. `livemode: true` of a source refuses " +
					"requests with `Square-Environment: Sandbox`, a header that is not signed.",
				"The older header `X-Square-Signature` (SHA-1) is ignored.",
				"`merchant_id` names the seller the event is about.",
				"After three weeks of failures Square disables the subscription.",
				"Unconfirmed: the response deadline is 10 s. The headers that count retries are also unconfirmed.",
			},
			Backfill: "POST /v2/events searches the events of the last 28 days, with the same ids. Raise the retention of keys to 28 days for it.",
			Docs:     "https://developer.squareup.com/docs/webhooks/overview",
		},
		List:        squareList(),
		Events:      f.Events,
		SignsURL:    true,
		Sample:      sampleSquare,
		ReplayToken: s.ReplayToken,
		TestEvent:   proof.TestWherePrefix(proof.InHeader("Square-Environment"), "sandbox"),
		Retry:       proof.RetrySigns{Number: proof.InHeader("Square-Retry-Number"), Reason: proof.InHeader("Square-Retry-Reason")}.Of,
		Deadline:    10 * time.Second,
		RetryWindow: proof.Day,
	}), nil
}

func sampleSquare(eventType, id string, now time.Time) *provider.Request {
	eventType = cmp.Or(eventType, "payment.updated")
	at, kind := now.UTC().Format(time.RFC3339Nano), eventType[:max(0, strings.LastIndexByte(eventType, '.'))]
	thing := proof.Object{"id": proof.FreshID(""), "created_at": at, "updated_at": at, "version": 1}
	if kind == "payment" {
		thing["status"], thing["location_id"] = "COMPLETED", "S8GWD5R9QB376"
		thing["amount_money"] = proof.Object{"amount": 4200, "currency": "USD"}
	}
	return proof.SampleJSON(proof.Object{
		"merchant_id": "6SSW7HV8K2ST5", "type": eventType, "event_id": cmp.Or(id, uuid.NewString()), "created_at": at,
		"data": proof.Object{"type": kind, "id": thing["id"], "object": proof.Object{kind: thing}},
	}, "Square-Version", "2026-10-21")
}

// squareList declares no list of events, because Square's event list is disabled by default. The
// API is only used to check our endpoint. Source: developer.squareup.com, webhook subscriptions
// API.
func squareList() *provider.List {
	return &provider.List{
		Base:     "https://connect.squareup.com",
		Endpoint: `[A-Za-z0-9_-]+`, Example: "wbhk_b35f6b3145074cf9ad513610786c19d5",
		Rights:     "the personal access token of the application.",
		Credential: "Authorization: Bearer {token}", Rate: 1, BackDays: 28,
		Check: &provider.EndpointFacts{
			Path: "/v2/webhooks/subscriptions/{endpoint}", URL: "subscription.notification_url", On: "subscription.enabled", OnIs: []string{"true"}, Types: "subscription.event_types",
			WhoTurnsOff: "A user disabled the webhook subscription.",
		},
	}
}
