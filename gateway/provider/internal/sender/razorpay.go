package sender

import (
	"cmp"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// Razorpay declares Razorpay's webhooks.
// Source: razorpay/markdown-docs, webhooks/validate-test and best-practices.
func Razorpay(provider.Options) (*provider.Provider, error) {
	id := proof.InHeader("X-Razorpay-Event-Id")
	s := proof.SignedBody("X-Razorpay-Signature", "", proof.Hex)
	s.Single = []string{id.Header}
	f := proof.Facts{ID: proof.Verbatim(id), Kind: proof.At("/event"), Occurred: proof.Clock{Pointer: "/created_at", Unit: proof.Seconds}}
	return proof.SignedBy(s, &provider.Provider{
		Name:           "razorpay",
		Title:          "Razorpay",
		HeaderFamilies: []string{"X-Razorpay-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation | provider.SDK,
				EventID:     provider.Documentation,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Documentation,
				Resend:      provider.Documentation,
			},
			Signing: "HMAC-SHA256 of the body in the header X-Razorpay-Signature.",
			KeyRule: "The header x-razorpay-event-id, which is the same in all attempts.",
			Setup: []string{
				"Open Account & Settings, Webhooks in the Dashboard and add a webhook with the URL {url}.",
				"Choose a long random secret and use it as the secret of the source.",
				"Select the events and save.",
			},
			Notes: []string{
				"Neither the id nor a time is signed: anyone who saw a delivery can resend it under another id. The replay guard detects that.",
				"Retries of older events are signed with the secret that was valid when they happened. Keep an old secret for 24 hours, " +
					"or for 15 days if Razorpay's support replays events for you.",
				"A webhook that fails for 24 hours is disabled and must be enabled manually.",
				"Events arrive in no particular order.",
			},
			Docs: "https://razorpay.com/docs/webhooks/",
		},
		Events:           f.Events,
		Sample:           sampleRazorpay,
		UnsignedID:       true,
		ReplayToken:      s.ReplayToken,
		Deadline:         5 * time.Second,
		RetryWindow:      proof.Day,
		ResendWindow:     15 * proof.Day, // according to Razorpay's support
		OldSecretRetries: true,
	}), nil
}

func sampleRazorpay(eventType, id string, now time.Time) *provider.Request {
	eventType = cmp.Or(eventType, "payment.captured")
	kind, _, _ := strings.Cut(eventType, ".")
	return proof.SampleJSON(proof.Object{
		"entity": "event", "account_id": "acc_HooklatchDemo", "event": eventType, "contains": []string{kind}, "created_at": now.Unix(),
		"payload": proof.Object{kind: proof.Object{"entity": proof.Object{
			"id": proof.FreshID("pay_"), "entity": kind, "amount": 4200, "currency": "INR", "status": "captured", "method": "upi",
			"email": "gaurav.kumar@example.com", "created_at": now.Unix(),
		}}},
	}, "X-Razorpay-Event-Id", cmp.Or(id, proof.FreshID("")))
}
