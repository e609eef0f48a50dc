package provider

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
)

// newCoinbase knows the webhooks of Coinbase Commerce.
// Source: coinbase/coinbase-commerce-node, Webhook and its tests.
func newCoinbase(Options) (*Provider, error) {
	s := &scheme{
		headers:  []headerNames{{signature: http.CanonicalHeaderKey("X-CC-Webhook-Signature")}},
		hash:     sha256.New,
		encoding: hexDigits,
		template: template{inBody},
		secret:   keySpelling{encoding: rawBytes},
	}
	f := facts{
		id: verbatim(at("/event/id")), kind: at("/event/type"), version: at("/event/api_version"),
		occurred: clock{Pointer: "/event/created_at"},
	}
	return &Provider{
		Name:  "coinbase",
		Title: "Coinbase Commerce",
		About: About{
			Confirmed: Unconfirmed,
			Signing:   "HMAC-SHA256 of the body in the header X-CC-Webhook-Signature.",
			KeyRule:   "event.id. The outer id and attempt_number belong to the attempt.",
			Setup: []string{
				"Open Settings, Notifications (Webhook subscriptions) in Coinbase Commerce and add an endpoint with the URL {url}.",
				"Use the shared secret shown there for the secret of the source.",
			},
			Notes: []string{
				"Unconfirmed: that deliveries are repeated for three days, and that one can be sent again by hand.",
				"Unconfirmed: Coinbase is retiring Commerce.",
			},
			Docs: "https://docs.cdp.coinbase.com/commerce/docs/webhooks",
		},
		Verify:      s.verify,
		Events:      f.events,
		Methods:     []string{http.MethodPost},
		CheckSecret: s.checkSecret,
		Sign:        s.sign,
		Sample:      sampleCoinbase,
		Retry:       retrySigns{number: at("/attempt_number"), first: 1}.of,
		RetryWindow: 3 * day,
	}, nil
}

func sampleCoinbase(eventType, id string, now time.Time) *Request {
	at := now.UTC().Format(time.RFC3339)
	code := strings.ToUpper(freshID("")[:8])
	return sampleJSON(object{
		"id": uuid.NewString(), "scheduled_for": at, "attempt_number": 1,
		"event": object{
			"id": cmp.Or(id, uuid.NewString()), "resource": "event", "type": cmp.Or(eventType, "charge:confirmed"),
			"api_version": "2018-03-22", "created_at": at,
			"data": object{
				"id": uuid.NewString(), "code": code, "name": "Warm socks", "hosted_url": "https://commerce.coinbase.com/charges/" + code,
				"pricing_type": "fixed_price", "pricing": object{"local": object{"amount": "42.00", "currency": "USD"}}, "created_at": at,
				"metadata": object{}, "payments": []object{},
			},
		},
	})
}
