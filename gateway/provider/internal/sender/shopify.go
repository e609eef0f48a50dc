package sender

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// Shopify declares Shopify's webhooks and its newer events, whose headers have no X- prefix.
// Source: shopify.dev, "Verify webhook deliveries"; @shopify/shopify-api 15.
func Shopify(provider.Options) (*provider.Provider, error) {
	classic, events := shopifyNames("X-Shopify-"), shopifyNames("Shopify-")
	s := &proof.Scheme{
		Headers:  []proof.HeaderNames{{Signature: classic.signature}, {Signature: events.signature}},
		Hash:     sha256.New,
		Encoding: proof.Base64,
		Template: proof.Template{proof.InBody},
		Secret:   proof.KeySpelling{Encoding: proof.Raw},
		Single:   append(classic.all(), events.all()...),
	}
	namesOf := func(r *provider.Request) shopifyHeaders {
		if s.Names(r.Header).Signature == events.signature {
			return events
		}
		return classic
	}
	return proof.SignedBy(s, &provider.Provider{
		Name:           "shopify",
		Title:          "Shopify",
		HeaderFamilies: []string{"Shopify-*", "X-Shopify-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation,
				EventID:     provider.Documentation,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Documentation,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA256 over the body, in base64, in `X-Shopify-Hmac-Sha256` or, for the newer events, `Shopify-Hmac-Sha256`. " +
				"The key is the client secret of the app; for webhooks made in the admin it is the secret shown there.",
			KeyRule: "Shop domain, topic, `X-Shopify-Event-Id` and `X-Shopify-Webhook-Id` together. One of the two ids may be missing. " +
				"These headers are not signed.",
			Setup: []string{
				"Subscribe to topics with the address {url}: in `shopify.app.toml`, with the Admin API, or under Settings > Notifications > Webhooks.",
				"The secret is the client secret of the app (Dev Dashboard > app > Settings), or the secret shown under the list of " +
					"webhooks in the admin.",
			},
			Notes: []string{
				proof.KeyHasMore,
				"After 8 consecutive failed deliveries, Shopify deletes a subscription made with the API.",
				"One action of a merchant may send several topics, even with the same body. They are separate events.",
				"Two subscriptions to one topic get the same event id but different webhook ids. Their deliveries are separate events, because " +
					"a subscription may have its own filter and fields. To merge them, as earlier versions did, set " +
					"`event_id: {join: [\"header:X-Shopify-Shop-Domain\", \"header:X-Shopify-Topic\", \"header:X-Shopify-Event-Id\"]}`.",
				"The topic is not signed. The replay guard flags a delivery only if the same body arrived with the same topic.",
				"XML bodies are also accepted. Conditions and keys of routes can only read JSON.",
				"A delivery may arrive a day late. Shopify waits one second for the connection.",
			},
			Backfill: "There is no list of events. To find missed events, compare your data with the Admin API by `updated_at`.",
			Docs:     "https://shopify.dev/docs/apps/build/webhooks",
		},
		Events:     func(r *provider.Request) ([]provider.Event, error) { return namesOf(r).events(r) },
		Sample:     sampleShopify,
		UnsignedID: true,
		ReplayToken: func(r *provider.Request) string {
			return proof.TokenByType(s.ReplayToken, namesOf(r).topic)(r)
		},
		Deadline:    5 * time.Second,
		RetryWindow: proof.Day, // 8 retries within 4 h, but deliveries may arrive up to a day late
	}), nil
}

// shopifyHeaders holds the header names of one family: webhooks or newer events.
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

func (n shopifyHeaders) events(r *provider.Request) ([]provider.Event, error) {
	// The event id is the same in the deliveries of all subscriptions to the topic. Only the
	// webhook id distinguishes these deliveries, and it is the same in all attempts of one
	// delivery.
	parts := []proof.Field{proof.InHeader(n.shop).IfAny(), proof.InHeader(n.topic).IfAny()}
	hasEvent := len(r.Header[n.event]) > 0
	if hasEvent {
		parts = append(parts, proof.InHeader(n.event))
	}
	if !hasEvent || len(r.Header[n.webhook]) > 0 {
		parts = append(parts, proof.Fixed("webhook"), proof.InHeader(n.webhook))
	}
	f := proof.Facts{ID: proof.Composite(parts...), Kind: proof.InHeader(n.topic), Version: proof.InHeader(n.version)}
	events, err := f.Events(r)
	if err != nil {
		return nil, err
	}
	if t, err := time.Parse(time.RFC3339Nano, r.Header.Get(n.triggered)); err == nil {
		events[0].OccurredAt = t.UTC()
	}
	return events, nil
}

func sampleShopify(eventType, id string, now time.Time) *provider.Request {
	at := now.UTC().Format(time.RFC3339Nano)
	id = cmp.Or(id, uuid.NewString())
	order := proof.NumberOf(id)
	return proof.SampleJSON(proof.Object{
		"id": order, "admin_graphql_api_id": fmt.Sprintf("gid://shopify/Order/%d", order), "name": "#1001",
		"order_number": 1001, "email": "jon@example.com", "created_at": at, "updated_at": at, "currency": "USD",
		"financial_status": "paid", "total_price": "42.00", "subtotal_price": "42.00", "test": true,
		"customer": proof.Object{"id": 115310627314723954, "email": "jon@example.com", "first_name": "Jon", "last_name": "Snow"},
		"line_items": []proof.Object{
			{"id": 866550311766439020, "title": "Warm socks", "sku": "SOCKS-1", "quantity": 2, "price": "21.00"},
		},
	},
		"X-Shopify-Topic", cmp.Or(eventType, "orders/create"),
		"X-Shopify-Shop-Domain", "hooklatch-demo.myshopify.com",
		"X-Shopify-API-Version", "2026-10",
		"X-Shopify-Webhook-Id", uuid.NewSHA1(uuid.NameSpaceURL, []byte(id)).String(), // the same in each attempt
		"X-Shopify-Event-Id", id,
		"X-Shopify-Triggered-At", at)
}
