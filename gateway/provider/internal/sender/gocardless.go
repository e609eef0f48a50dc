package sender

import (
	"cmp"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// GoCardless declares the webhooks of GoCardless Pro: a list of events.
// Source: developer.gocardless.com, "Webhooks"; support.gocardless.com,
// "Webhook retries / failures"; gocardless-pro libraries.
func GoCardless(provider.Options) (*provider.Provider, error) {
	s := proof.SignedBody("Webhook-Signature", "", proof.Hex) // Standard Webhooks uses a header of the same name
	rule := proof.Each("/events", proof.Facts{
		ID:       proof.Verbatim(proof.At("/id")),
		Kind:     proof.At("/resource_type"),
		Detail:   proof.At("/action"),
		Occurred: proof.Clock{Pointer: "/created_at"},
	}.Of)
	return proof.SignedBy(s, &provider.Provider{
		Name:           "gocardless",
		Title:          "GoCardless",
		HeaderFamilies: []string{"Webhook-Signature"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation,
				EventID:     provider.Documentation,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Nobody,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA256 over the body, in hex, in the header Webhook-Signature. No time is signed.",
			KeyRule: "id of each event in /events.",
			Setup: []string{
				"Open Dashboard, Developers, Create, Webhook endpoint. Enter the URL {url} and a secret, either your own or a generated " +
					"one.",
				"This secret is the secret of the source. Sandbox and live have different secrets.",
			},
			Notes: []string{
				"A delivery carries up to 250 events (unconfirmed), possibly of several resources and in any order.",
				"GoCardless suggests 498 for a wrong signature. Hooklatch answers 401; GoCardless only requires a status other than 2xx.",
				"GoCardless waits 10 s, follows no redirects, and retries 8 times at increasing intervals.",
				"Unconfirmed: the 8 retries end within a day, and a delivery can be resent (dashboard or API) for 30 days.",
			},
			Backfill: "GET /events?after= lists the same events with the same ids.",
			Docs:     "https://developer.gocardless.com/getting-started/staying-up-to-date-with-webhooks",
		},
		Events:      rule.Events,
		Sample:      sampleGoCardless,
		Deadline:    10 * time.Second,
		RetryWindow: proof.Day, ResendWindow: 30 * proof.Day,
	}), nil
}

func sampleGoCardless(eventType, id string, now time.Time) *provider.Request {
	resource, action, _ := strings.Cut(cmp.Or(eventType, "payments.confirmed"), ".")
	event := proof.Object{
		"id": cmp.Or(id, strings.ToUpper(proof.FreshID("EV"))), "created_at": now.UTC().Format(time.RFC3339Nano), "resource_type": resource,
		"links": proof.Object{strings.TrimSuffix(resource, "s"): "PM0000DEMO0001"}, "metadata": proof.Object{}, "resource_metadata": proof.Object{"order_id": "42"},
		"details": proof.Object{"origin": "gocardless", "cause": strings.TrimSuffix(resource, "s") + "_" + action, "description": "A demo event."},
	}
	if action != "" {
		event["action"] = action
	}
	return proof.SampleJSON(proof.Object{"events": []proof.Object{event}, "meta": proof.Object{"webhook_id": strings.ToUpper(proof.FreshID("WB"))}})
}
