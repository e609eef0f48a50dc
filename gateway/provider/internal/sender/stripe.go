// Package sender declares every provider in a separate file: how the sender signs, when two
// deliveries are the same event, and which response the sender expects.
package sender

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Stripe declares Stripe's snapshot and thin events.
// Source: docs.stripe.com/webhooks, stripe-go webhook/client.go.
func Stripe(o provider.Options) (*provider.Provider, error) {
	s := proof.TimedBody("Stripe-Signature", proof.Seconds, proof.Tolerance(o, proof.StandardTolerance)) // whsec_ is part of the key here
	f := proof.Facts{
		ID:       proof.Verbatim(proof.At("/id")),
		Kind:     proof.At("/type"),
		Version:  proof.At("/api_version"),
		Occurred: proof.Clock{Pointer: "/created"}, // a number, or RFC 3339 in thin events
	}
	return &provider.Provider{
		Name:           "stripe",
		Title:          "Stripe",
		HeaderFamilies: []string{"Stripe-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation | provider.SDK,
				EventID:     provider.Documentation,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Documentation,
				Resend:      provider.Documentation,
			},
			Signing: "HMAC-SHA256 over `t.body`, in hex, as `v1` in `Stripe-Signature`. There are several `v1` while the secret is rolled; " +
				"other versions are ignored. The whole secret, with its `whsec_`, is the key.",
			KeyRule: "`id` of the event (`evt_...`), which is in the signed body. This applies to snapshot and thin events.",
			Setup: []string{
				"Stripe Dashboard > Developers > Webhooks (Workbench): add the endpoint {url} and choose its events.",
				"Reveal the signing secret (`whsec_...`) of that endpoint. Test mode and live mode have one each. An API key (`sk_...`, `rk_...`) is not a signing secret.",
				"On your own machine `stripe listen --forward-to localhost:8080/webhooks/stripe` needs no public URL. The `whsec_...` it prints is not the " +
					"secret of the endpoint in the dashboard: pass it with `hooklatch dev --secret stripe=whsec_...`.",
			},
			Notes: []string{
				"Stripe may create two events for one change. They have two ids; a route key of `data.object.id` and the type merges " +
					"their effects.",
				"Events arrive in any order.",
				"`livemode: true` of the source refuses events of test mode, which have `livemode: false`.",
				"Connect: events of connected accounts go to a separate endpoint with a separate secret, created with \"events on " +
					"connected accounts\". Use a separate source, or give one source both secrets. `account` of the body names the " +
					"account of the event.",
				"To roll the secret, configure both: Stripe signs with the old one for up to 24 hours.",
			},
			Backfill: "`GET /v1/events?delivery_success=false` (thin: `/v2/core/events`) lists 30 days.",
			Docs:     "https://docs.stripe.com/webhooks",
		},
		List:        stripeList(),
		Verify:      s.Verify,
		Events:      f.Events,
		CheckSecret: checkStripeSecret(s.Secret),
		Sign:        s.Sign,
		Sample:      sampleStripe,
		ReplayToken: s.ReplayToken,
		TestEvent:   proof.TestWhereFalse("/livemode"),
		RetryWindow: 3 * proof.Day, ResendWindow: 30 * proof.Day,
	}, nil
}

// checkStripeSecret returns a check that also refuses the keys that Stripe's dashboard shows next
// to the signing secret. An API key never verifies a delivery, and configuring one would store the
// account's key in one more location.
func checkStripeSecret(spelling proof.KeySpelling) func(secret.Value) error {
	return func(s secret.Value) error {
		for _, prefix := range []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "pk_test_"} {
			if strings.HasPrefix(s.Reveal(), prefix) {
				return fmt.Errorf("a key that begins with %s is a Stripe API key, not the signing secret of an endpoint, which begins with whsec_; "+
					"find it at the endpoint under Developers > Webhooks, or in the output of `stripe listen`", prefix)
			}
		}
		return spelling.Check(s)
	}
}

func sampleStripe(eventType, id string, now time.Time) *provider.Request {
	eventType = cmp.Or(eventType, "invoice.paid")
	id = cmp.Or(id, proof.FreshID("evt_"))
	suffix := strings.TrimPrefix(id, "evt_")
	return proof.SampleJSON(proof.Object{
		"id": id, "object": "event", "api_version": "2026-10-29", "created": now.Unix(), "type": eventType,
		"livemode": false, "pending_webhooks": 1, "request": proof.Object{"id": "req_" + suffix, "idempotency_key": nil},
		"data": proof.Object{"object": stripeObject(eventType, suffix, now)},
	})
}

// stripeObject returns the object that belongs to an event type, in a matching state, so that
// a route tested with it sees realistic data.
func stripeObject(eventType, suffix string, now time.Time) proof.Object {
	at := max(0, strings.LastIndexByte(eventType, '.'))
	kind, verb := eventType[:at], strings.TrimPrefix(eventType[at:], ".")
	const amount = 4200
	paid, customer := 0, "cus_"+suffix
	object := proof.Object{"object": kind, "created": now.Unix(), "livemode": false, "metadata": proof.Object{}}
	add := func(more proof.Object) proof.Object {
		maps.Copy(object, more)
		return object
	}
	// status returns the verb's status, or the usual one.
	status := func(usual string, of map[string]string) string { return cmp.Or(of[verb], usual) }
	switch kind {
	case "invoice":
		is := status("open", map[string]string{"paid": "paid", "payment_succeeded": "paid", "created": "draft", "upcoming": "draft", "voided": "void", "marked_uncollectible": "uncollectible"})
		if is == "paid" {
			paid = amount
		}
		return add(proof.Object{
			"id": "in_" + suffix, "amount_due": amount, "amount_paid": paid, "amount_remaining": amount - paid, "attempted": verb == "payment_failed" || is == "paid",
			"currency": "usd", "customer": customer, "customer_email": "jenny.rosen@example.com", "customer_name": "Jenny Rosen",
			"number": "HL-0001", "status": is,
		})
	case "customer":
		return add(proof.Object{"id": customer, "email": "jenny.rosen@example.com", "name": "Jenny Rosen"})
	case "customer.subscription":
		return add(proof.Object{
			"id": "sub_" + suffix, "object": "subscription", "customer": customer, "cancel_at_period_end": false,
			"status": status("active", map[string]string{"deleted": "canceled", "paused": "paused", "trial_will_end": "trialing"}),
			"items": proof.Object{"object": "list", "data": []any{proof.Object{
				"id": "si_" + suffix, "object": "subscription_item", "quantity": 1,
				"price": proof.Object{"id": "price_" + suffix, "object": "price", "unit_amount": amount, "currency": "usd", "recurring": proof.Object{"interval": "month"}},
			}}},
		})
	case "charge":
		refunded := 0
		if verb == "refunded" {
			refunded = amount
		}
		is := status("succeeded", map[string]string{"failed": "failed", "pending": "pending"})
		return add(proof.Object{
			"id": "ch_" + suffix, "amount": amount, "amount_refunded": refunded, "refunded": refunded > 0, "paid": is == "succeeded",
			"currency": "usd", "customer": customer, "payment_intent": "pi_" + suffix, "status": is,
		})
	case "payment_intent":
		is := status("requires_payment_method", map[string]string{"succeeded": "succeeded", "canceled": "canceled", "processing": "processing", "requires_action": "requires_action"})
		if is == "succeeded" {
			paid = amount
		}
		return add(proof.Object{"id": "pi_" + suffix, "amount": amount, "amount_received": paid, "currency": "usd", "customer": customer, "status": is})
	case "checkout.session":
		is := status("complete", map[string]string{"expired": "expired"})
		return add(proof.Object{
			"id": "cs_" + suffix, "amount_total": amount, "currency": "usd", "customer": customer, "mode": "payment", "status": is,
			"payment_status": map[bool]string{true: "paid", false: "unpaid"}[is == "complete" && verb != "async_payment_failed"],
		})
	}
	return add(proof.Object{"id": "obj_" + suffix})
}

// stripeList lists the events of the account, including types to which our endpoint
// does not subscribe.
// Source: docs.stripe.com/api/events/list.
func stripeList() *provider.List {
	return &provider.List{
		Base:     "https://api.stripe.com",
		Endpoint: `we_[A-Za-z0-9]+`, Example: "we_1MPRUwLkdIwHu7ixHr4wXyZ",
		Rights: "a restricted key with Events: read and Webhook Endpoints: read. For Connect, `accounts` names the connected " +
			"accounts, which the key must include.",
		StrongToken: "sk_",
		Credential:  "Authorization: Bearer {token}", Account: "Stripe-Account",
		Rate: 2, BackDays: 30,
		Path:    "/v1/events?limit=100&created[gte]={since}&created[lt]={until}&starting_after={last}",
		Seconds: true, Items: "/data", Next: provider.Next{More: "/has_more"}, Order: provider.NewestFirst,
		Ref: "/id", Time: "/created",
		Check: &provider.EndpointFacts{
			Path: "/v1/webhook_endpoints/{endpoint}", URL: "url", On: "status", OnIs: []string{"enabled"}, Types: "enabled_events", Version: "api_version",
			WhoTurnsOff: "Stripe switches an endpoint off after days of failed deliveries; a user can also switch it off. Stripe does not send the events of that time later.",
		},
	}
}
