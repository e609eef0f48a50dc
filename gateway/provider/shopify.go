package provider

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// newShopify knows Shopify's webhooks and its newer events, whose headers have
// no X-.
// Source: shopify.dev, "Ignore duplicates"; @shopify/shopify-api 15.
func newShopify(Options) (*Provider, error) {
	classic, events := shopifyNames("X-Shopify-"), shopifyNames("Shopify-")
	s := &scheme{
		headers:  []headerNames{{signature: classic.signature}, {signature: events.signature}},
		hash:     sha256.New,
		encoding: base64Std,
		template: template{inBody},
		secret:   keySpelling{encoding: rawBytes},
		single:   append(classic.all(), events.all()...),
	}
	return &Provider{
		Name:  "shopify",
		Title: "Shopify",
		About: About{
			Confirmed: Secondary, // the deadline
			Signing: "HMAC-SHA256 over the body, in base64, in `X-Shopify-Hmac-Sha256`, or `Shopify-Hmac-Sha256` of the newer events. " +
				"The key is the client secret of the app; for webhooks made in the admin it is the secret shown there.",
			KeyRule: "Shop domain, topic and `X-Shopify-Event-Id` together; deliveries without it go by `X-Shopify-Webhook-Id`. " +
				"These headers are not signed.",
			Setup: []string{
				"Subscribe to topics in `shopify.app.toml` or by the Admin API with the address {url}, or under Settings > Notifications > Webhooks.",
				"The secret is the client secret of the app (Dev Dashboard > app > Settings), or the one under the list of webhooks in the admin.",
			},
			Notes: []string{
				"After 8 failed deliveries in a row Shopify deletes a subscription made by the API.",
				"One action of a merchant may send several topics. They are several events.",
				"A delivery may come a day late. Shopify waits one second for the connection.",
			},
			Backfill: "None for events. Compare with the Admin API, by `updated_at`.",
			Docs:     "https://shopify.dev/docs/apps/build/webhooks",
		},
		Verify: s.verify,
		Events: func(r *Request) ([]Event, error) {
			names := classic
			if s.names(r.Header).signature == events.signature {
				names = events
			}
			return names.events(r)
		},
		Methods:     []string{http.MethodPost},
		CheckSecret: s.secret.check,
		Sign:        s.sign,
		Sample:      sampleShopify,
		UnsignedID:  true,
		ReplayToken: s.replayToken,
		Deadline:    5 * time.Second,
		RetryWindow: day, // 8 retries over 4 h, but deliveries may come up to a day late
	}, nil
}

// shopifyHeaders is one of the two families of header names.
type shopifyHeaders struct {
	signature, topic, shop, event, webhook, triggered, version string
}

func shopifyNames(prefix string) shopifyHeaders {
	name := func(s string) string { return http.CanonicalHeaderKey(prefix + s) }
	return shopifyHeaders{
		signature: name("Hmac-Sha256"),
		topic:     name("Topic"),
		shop:      name("Shop-Domain"),
		event:     name("Event-Id"),
		webhook:   name("Webhook-Id"),
		triggered: name("Triggered-At"),
		version:   name("Api-Version"),
	}
}

func (n shopifyHeaders) all() []string {
	return []string{n.topic, n.shop, n.event, n.webhook, n.triggered, n.version}
}

func (n shopifyHeaders) events(r *Request) ([]Event, error) {
	id := composite(inHeader(n.shop), inHeader(n.topic), inHeader(n.event))
	if len(r.Header[n.event]) == 0 {
		// Old deliveries have no event id. The extra part keeps the two kinds
		// of key apart.
		id = composite(inHeader(n.shop), inHeader(n.topic), fixed("webhook"), inHeader(n.webhook))
	}
	f := facts{id: id, kind: inHeader(n.topic), version: inHeader(n.version), needJSON: true}
	events, err := f.events(r)
	if err != nil {
		return nil, err
	}
	if t, err := time.Parse(time.RFC3339Nano, r.Header.Get(n.triggered)); err == nil {
		events[0].OccurredAt = t.UTC()
	}
	return events, nil
}

func sampleShopify(eventType, id string, now time.Time) *Request {
	at := now.UTC().Format(time.RFC3339Nano)
	id = cmp.Or(id, uuid.NewString())
	order := numberOf(id)
	return sampleJSON(object{
		"id": order, "admin_graphql_api_id": fmt.Sprintf("gid://shopify/Order/%d", order), "name": "#1001",
		"order_number": 1001, "email": "jon@example.com", "created_at": at, "updated_at": at, "currency": "USD",
		"financial_status": "paid", "total_price": "42.00", "subtotal_price": "42.00", "test": true,
		"customer": object{"id": 115310627314723954, "email": "jon@example.com", "first_name": "Jon", "last_name": "Snow"},
		"line_items": []object{
			{"id": 866550311766439020, "title": "Warm socks", "sku": "SOCKS-1", "quantity": 2, "price": "21.00"},
		},
	},
		"X-Shopify-Topic", cmp.Or(eventType, "orders/create"),
		"X-Shopify-Shop-Domain", "hooklatch-demo.myshopify.com",
		"X-Shopify-API-Version", "2026-10",
		"X-Shopify-Webhook-Id", uuid.NewString(),
		"X-Shopify-Event-Id", id,
		"X-Shopify-Triggered-At", at)
}
