package provider

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// newStripe knows Stripe's snapshot and thin events.
// Source: docs.stripe.com/webhooks, stripe-go webhook/client.go.
func newStripe(o Options) (*Provider, error) {
	s := &scheme{
		headers:   []headerNames{{signature: "Stripe-Signature"}},
		pairs:     &pairs{separator: ",", assign: "=", signature: "v1", timestamp: "t"},
		hash:      sha256.New,
		encoding:  hexDigits,
		template:  template{inTimestamp, ".", inBody},
		secret:    keySpelling{encoding: rawBytes}, // whsec_ is part of the key here
		unit:      seconds,
		tolerance: tolerance(o, standardTolerance),
	}
	f := facts{
		id:       verbatim(at("/id")),
		kind:     at("/type"),
		version:  at("/api_version"),
		occurred: clock{Pointer: "/created"}, // a number, but RFC 3339 in thin events
	}
	return &Provider{
		Name:  "stripe",
		Title: "Stripe",
		About: About{
			Confirmed: Confirmed,
			Signing: "HMAC-SHA256 over `t.body`, in hex, as `v1` of `Stripe-Signature`. Several `v1` while the secret is rolled; " +
				"other versions are passed over. The secret, with its `whsec_`, is the key as it stands.",
			KeyRule: "`id` of the event (`evt_...`), which is in the signed body. Snapshot and thin events.",
			Setup: []string{
				"Stripe Dashboard > Developers > Webhooks (Workbench): add the endpoint {url} and choose its events.",
				"Reveal the signing secret (`whsec_...`) of that endpoint. Test mode and live mode have one each. An API key (`sk_...`, `rk_...`) is not it.",
				"On your own machine `stripe listen --forward-to localhost:8080/webhooks/stripe` needs no public URL. The `whsec_...` it prints is another " +
					"secret than that of the endpoint in the dashboard: `hooklatch dev --secret stripe=whsec_...` takes it.",
			},
			Notes: []string{
				"Stripe may make two events for one change. They have two ids; a route key on `data.object.id` and the type joins them.",
				"Events come in any order.",
				"Connect: events of connected accounts come to an endpoint of their own, made with \"events on connected accounts\", which has its own secret. " +
					"Give it a source of its own, or both secrets to one. `account` of the body says whose event it is.",
				"To roll the secret give both: Stripe signs with the old one for up to 24 hours.",
			},
			Backfill: "`GET /v1/events?delivery_success=false` (thin: `/v2/core/events`) lists 30 days.",
			Docs:     "https://docs.stripe.com/webhooks",
		},
		Verify:      s.verify,
		Events:      f.events,
		Methods:     []string{http.MethodPost},
		CheckSecret: checkStripeSecret(s.secret),
		Sign:        s.sign,
		Sample:      sampleStripe,
		ReplayToken: s.replayToken,
		RetryWindow: 3 * day, ResendWindow: 30 * day,
	}, nil
}

// checkStripeSecret refuses what stands beside the signing secret in Stripe's
// dashboard: with an API key here no delivery would ever be proven, and the key
// to the account would be in one more place.
func checkStripeSecret(spelling keySpelling) func(secret.Value) error {
	return func(s secret.Value) error {
		for _, prefix := range []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "pk_test_"} {
			if strings.HasPrefix(s.Reveal(), prefix) {
				return fmt.Errorf("a key that begins with %s is one of Stripe's API, not the signing secret of an endpoint, which begins with whsec_; "+
					"find that with the endpoint under Developers > Webhooks, or in what `stripe listen` prints", prefix)
			}
		}
		return spelling.check(s)
	}
}

func sampleStripe(eventType, id string, now time.Time) *Request {
	eventType = cmp.Or(eventType, "invoice.paid")
	id = cmp.Or(id, freshID("evt_"))
	suffix := strings.TrimPrefix(id, "evt_")
	kind := eventType[:max(0, strings.LastIndexByte(eventType, '.'))]
	data := object{"id": "obj_" + suffix, "object": kind, "created": now.Unix(), "livemode": false, "metadata": object{}}
	switch kind {
	case "invoice":
		data = object{
			"id": "in_" + suffix, "object": "invoice", "amount_due": 4200, "amount_paid": 4200, "amount_remaining": 0,
			"currency": "usd", "customer": "cus_" + suffix, "customer_email": "jenny.rosen@example.com",
			"customer_name": "Jenny Rosen", "number": "HL-0001", "status": "paid", "created": now.Unix(), "livemode": false,
			"metadata": object{},
		}
	case "customer":
		data["id"], data["email"], data["name"] = "cus_"+suffix, "jenny.rosen@example.com", "Jenny Rosen"
	case "charge", "payment_intent":
		data["amount"], data["currency"], data["status"] = 4200, "usd", "succeeded"
	}
	return sampleJSON(object{
		"id": id, "object": "event", "api_version": "2026-10-29", "created": now.Unix(), "type": eventType,
		"livemode": false, "pending_webhooks": 1, "request": object{"id": "req_" + suffix, "idempotency_key": nil},
		"data": object{"object": data},
	})
}
