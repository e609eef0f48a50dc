package provider

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"strings"
	"time"
)

// newGoCardless knows the webhooks of GoCardless Pro: a list of events.
// Source: developer.gocardless.com, "Webhooks"; support.gocardless.com,
// "Webhook retries / failures"; gocardless-pro libraries.
func newGoCardless(Options) (*Provider, error) {
	s := &scheme{
		headers:  []headerNames{{signature: "Webhook-Signature"}}, // the same name as that of Standard Webhooks
		hash:     sha256.New,
		encoding: hexDigits,
		template: template{inBody},
		secret:   keySpelling{encoding: rawBytes},
	}
	rule := each("/events", facts{
		id:       verbatim(at("/id")),
		kind:     at("/resource_type"),
		detail:   at("/action"),
		occurred: clock{Pointer: "/created_at"},
	}.of)
	return &Provider{
		Name:  "gocardless",
		Title: "GoCardless",
		About: About{
			Confirmed: Unconfirmed,
			Signing:   "HMAC-SHA256 over the body, in hex, in the header Webhook-Signature. No time is signed.",
			KeyRule:   "id of each event in /events.",
			Setup: []string{
				"Dashboard, Developers, Create, Webhook endpoint: URL {url} and a secret, your own or a generated one.",
				"That secret is the secret of the source. Sandbox and live have different ones.",
			},
			Notes: []string{
				"A delivery carries up to 250 events (unconfirmed), perhaps of several resources and in any order.",
				"GoCardless suggests 498 for a wrong signature. Hooklatch answers 401; GoCardless only asks for something other than 2xx.",
				"GoCardless waits for 10 s, follows no redirect, and tries 8 times more at growing intervals.",
				"Unconfirmed: that these 8 times are over within a day, and that a delivery can be sent again (dashboard or API) for 30 days.",
			},
			Backfill: "GET /events?after= lists the same events with the same ids.",
			Docs:     "https://developer.gocardless.com/getting-started/staying-up-to-date-with-webhooks",
		},
		Verify:      s.verify,
		Events:      rule.events,
		Methods:     []string{http.MethodPost},
		CheckSecret: s.secret.check,
		Sign:        s.sign,
		Sample:      sampleGoCardless,
		Deadline:    10 * time.Second,
		RetryWindow: day, ResendWindow: 30 * day,
	}, nil
}

func sampleGoCardless(eventType, id string, now time.Time) *Request {
	resource, action, _ := strings.Cut(cmp.Or(eventType, "payments.confirmed"), ".")
	event := object{
		"id": cmp.Or(id, strings.ToUpper(freshID("EV"))), "created_at": now.UTC().Format(time.RFC3339Nano), "resource_type": resource,
		"links": object{strings.TrimSuffix(resource, "s"): "PM0000DEMO0001"}, "metadata": object{}, "resource_metadata": object{"order_id": "42"},
		"details": object{"origin": "gocardless", "cause": strings.TrimSuffix(resource, "s") + "_" + action, "description": "A demo event."},
	}
	if action != "" {
		event["action"] = action
	}
	return sampleJSON(object{"events": []object{event}, "meta": object{"webhook_id": strings.ToUpper(freshID("WB"))}})
}
