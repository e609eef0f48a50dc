package provider

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
)

// newSquare knows Square, which signs the URL it was given with the body
// behind it.
// Source: developer.squareup.com/docs/webhooks, "Verify and validate an event
// notification"; square-nodejs-sdk tests/integration/webhooks.test.ts.
func newSquare(Options) (*Provider, error) {
	s := &scheme{
		headers:  []headerNames{{signature: "X-Square-Hmacsha256-Signature"}},
		hash:     sha256.New,
		encoding: base64Std,
		template: template{inURL, inBody},
		secret:   keySpelling{encoding: rawBytes},
	}
	f := facts{
		id:       verbatim(at("/event_id")),
		kind:     at("/type"),
		occurred: clock{Pointer: "/created_at"},
	}
	return &Provider{
		Name:  "square",
		Title: "Square",
		About: About{
			Confirmed: Unconfirmed,
			Signing: "HMAC-SHA256 over the notification URL with the body behind it, in base64, in the header " +
				"`X-Square-HmacSha256-Signature`. No time is signed.",
			KeyRule: "`/event_id` of the body, Square's own idempotency value.",
			Setup: []string{
				"Developer Console, the application, Webhooks, Subscriptions, Add subscription: URL {url}, API version and events.",
				"The subscription shows the signature key: it is the secret of the source.",
				"Set `gateway.public_url` (or `public_url` of the source) to exactly what stands there: every byte of the URL is signed.",
			},
			Notes: []string{
				"Sandbox and production have subscriptions and keys of their own: two sources.",
				"The older header `X-Square-Signature` (SHA-1) is ignored.",
				"`merchant_id` names the seller the event is about.",
				"After three weeks of failures Square disables the subscription.",
				"Unconfirmed: an answer within 10 s, and the headers that count retries.",
			},
			Backfill: "POST /v2/events searches the events of the last 28 days, with the same ids. Raise the retention of keys to 28 days for it.",
			Docs:     "https://developer.squareup.com/docs/webhooks/overview",
		},
		Verify:      s.verify,
		Events:      f.events,
		Methods:     []string{http.MethodPost},
		SignsURL:    true,
		CheckSecret: s.checkSecret,
		Sign:        s.sign,
		Sample:      sampleSquare,
		ReplayToken: s.replayToken,
		Retry:       retrySigns{number: inHeader("Square-Retry-Number"), reason: inHeader("Square-Retry-Reason")}.of,
		Deadline:    10 * time.Second,
		RetryWindow: day,
	}, nil
}

func sampleSquare(eventType, id string, now time.Time) *Request {
	eventType = cmp.Or(eventType, "payment.updated")
	at, kind := now.UTC().Format(time.RFC3339Nano), eventType[:max(0, strings.LastIndexByte(eventType, '.'))]
	thing := object{"id": freshID(""), "created_at": at, "updated_at": at, "version": 1}
	if kind == "payment" {
		thing["status"], thing["location_id"] = "COMPLETED", "S8GWD5R9QB376"
		thing["amount_money"] = object{"amount": 4200, "currency": "USD"}
	}
	return sampleJSON(object{
		"merchant_id": "6SSW7HV8K2ST5", "type": eventType, "event_id": cmp.Or(id, uuid.NewString()), "created_at": at,
		"data": object{"type": kind, "id": thing["id"], "object": object{kind: thing}},
	}, "Square-Version", "2026-10-21")
}
