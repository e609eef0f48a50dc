package sender

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// Coinbase declares the webhooks of Coinbase Commerce.
// Source: coinbase/coinbase-commerce-node, Webhook and its tests.
func Coinbase(provider.Options) (*provider.Provider, error) {
	s := proof.SignedBody(http.CanonicalHeaderKey("X-CC-Webhook-Signature"), "", proof.Hex)
	f := proof.Facts{
		ID: proof.Verbatim(proof.At("/event/id")), Kind: proof.At("/event/type"), Version: proof.At("/event/api_version"),
		Occurred: proof.Clock{Pointer: "/event/created_at"},
	}
	return proof.SignedBy(s, &provider.Provider{
		Name:           "coinbase",
		Title:          "Coinbase Commerce",
		HeaderFamilies: []string{"X-Cc-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation | provider.Vector,
				EventID:     provider.Documentation,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Nobody,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA256 of the body in the header X-CC-Webhook-Signature.",
			KeyRule: "event.id. The outer id and attempt_number belong to the attempt.",
			Setup: []string{
				"Open Settings, Notifications (Webhook subscriptions) in Coinbase Commerce and add an endpoint with the URL {url}.",
				"Use the shared secret shown there as the secret of the source.",
			},
			Notes: []string{
				"Unconfirmed: Coinbase retries deliveries for three days, and a delivery can be resent manually.",
				"Unconfirmed: Coinbase is retiring Commerce.",
			},
			Docs: "https://docs.cdp.coinbase.com/commerce/docs/webhooks",
		},
		Events:      f.Events,
		Sample:      sampleCoinbase,
		Retry:       proof.RetrySigns{Number: proof.At("/attempt_number"), First: 1}.Of,
		RetryWindow: 3 * proof.Day,
	}), nil
}

func sampleCoinbase(eventType, id string, now time.Time) *provider.Request {
	at := now.UTC().Format(time.RFC3339)
	code := strings.ToUpper(proof.FreshID("")[:8])
	return proof.SampleJSON(proof.Object{
		"id": uuid.NewString(), "scheduled_for": at, "attempt_number": 1,
		"event": proof.Object{
			"id": cmp.Or(id, uuid.NewString()), "resource": "event", "type": cmp.Or(eventType, "charge:confirmed"),
			"api_version": "2018-03-22", "created_at": at,
			"data": proof.Object{
				"id": uuid.NewString(), "code": code, "name": "Warm socks", "hosted_url": "https://commerce.coinbase.com/charges/" + code,
				"pricing_type": "fixed_price", "pricing": proof.Object{"local": proof.Object{"amount": "42.00", "currency": "USD"}}, "created_at": at,
				"metadata": proof.Object{}, "payments": []proof.Object{},
			},
		},
	})
}
