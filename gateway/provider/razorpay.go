package provider

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"strings"
	"time"
)

// newRazorpay knows Razorpay's webhooks.
// Source: razorpay/markdown-docs, webhooks/validate-test and best-practices.
func newRazorpay(Options) (*Provider, error) {
	id := inHeader("X-Razorpay-Event-Id")
	s := &scheme{
		headers:  []headerNames{{signature: "X-Razorpay-Signature"}},
		hash:     sha256.New,
		encoding: hexDigits,
		template: template{inBody},
		secret:   keySpelling{encoding: rawBytes},
		single:   []string{id.Header},
	}
	f := facts{id: verbatim(id), kind: at("/event"), occurred: clock{Pointer: "/created_at", unit: seconds}}
	return &Provider{
		Name:  "razorpay",
		Title: "Razorpay",
		About: About{
			Confirmed: Confirmed,
			Signing:   "HMAC-SHA256 of the body in the header X-Razorpay-Signature.",
			KeyRule:   "The header x-razorpay-event-id, which is the same in all attempts.",
			Setup: []string{
				"Open Account & Settings, Webhooks in the Dashboard and add a webhook with the URL {url}.",
				"Choose a long random secret, and use it for the secret of the source.",
				"Select the events and save.",
			},
			Notes: []string{
				"The id is not signed, and no time is either: whoever saw a delivery can send it again under another id. The replay guard finds that.",
				"Retries of older events are signed with the secret that was valid when they happened: keep an old secret for 24 hours, " +
					"or 15 days if you have events replayed by support.",
				"A webhook that fails for 24 hours is disabled and must be enabled by hand.",
				"Events come in no order.",
			},
			Docs: "https://razorpay.com/docs/webhooks/",
		},
		Verify:           s.verify,
		Events:           f.events,
		Methods:          []string{http.MethodPost},
		CheckSecret:      s.checkSecret,
		Sign:             s.sign,
		Sample:           sampleRazorpay,
		UnsignedID:       true,
		ReplayToken:      s.replayToken,
		Deadline:         5 * time.Second,
		RetryWindow:      day,
		ResendWindow:     15 * day, // by its support
		OldSecretRetries: true,
	}, nil
}

func sampleRazorpay(eventType, id string, now time.Time) *Request {
	eventType = cmp.Or(eventType, "payment.captured")
	kind, _, _ := strings.Cut(eventType, ".")
	return sampleJSON(object{
		"entity": "event", "account_id": "acc_HooklatchDemo", "event": eventType, "contains": []string{kind}, "created_at": now.Unix(),
		"payload": object{kind: object{"entity": object{
			"id": freshID("pay_"), "entity": kind, "amount": 4200, "currency": "INR", "status": "captured", "method": "upi",
			"email": "gaurav.kumar@example.com", "created_at": now.Unix(),
		}}},
	}, "X-Razorpay-Event-Id", cmp.Or(id, freshID("")))
}
