package provider

import (
	"cmp"
	"crypto/sha1"
	"net/http"
	"time"
)

// newVercel knows the webhooks of accounts and integrations.
// Source: vercel.com/docs/webhooks, "Securing webhooks".
func newVercel(Options) (*Provider, error) {
	s := &scheme{
		headers:  []headerNames{{signature: "X-Vercel-Signature"}},
		hash:     sha1.New,
		encoding: hexDigits,
		template: template{inBody},
		secret:   keySpelling{encoding: rawBytes},
	}
	f := facts{
		id:       verbatim(at("/id")),
		kind:     at("/type"),
		occurred: clock{Pointer: "/createdAt", unit: milliseconds},
	}
	return &Provider{
		Name:  "vercel",
		Title: "Vercel",
		About: About{
			Confirmed: Secondary,
			Signing:   "HMAC-SHA1 over the body, in hex, in the header x-vercel-signature. No time is signed.",
			KeyRule:   "/id of the body.",
			Setup: []string{
				"Team settings, Webhooks, Create Webhook: choose events and projects, endpoint URL {url}.",
				"The secret is shown once, after the webhook was created. The webhooks of an integration are signed with its client secret instead.",
			},
			Notes: []string{
				"Log and trace drains are another format (lists, and a header x-vercel-verify in the answer) and are not supported.",
				"Unconfirmed: that a delivery can be sent again by hand after the 24 hours of retries.",
			},
			Docs: "https://vercel.com/docs/webhooks/webhooks-api",
		},
		Verify:      s.verify,
		Events:      f.events,
		Methods:     []string{http.MethodPost},
		CheckSecret: s.secret.check,
		Sign:        s.sign,
		Sample:      sampleVercel,
		Deadline:    30 * time.Second,
		RetryWindow: day,
	}, nil
}

func sampleVercel(eventType, id string, now time.Time) *Request {
	return sampleJSON(object{
		"id": cmp.Or(id, freshID("")), "type": cmp.Or(eventType, "deployment.succeeded"), "createdAt": now.UnixMilli(), "region": "sfo1",
		"payload": object{
			"team": object{"id": "team_nLlpyC6REAqxydlFKbrMDlud"}, "user": object{"id": "cl2DPjUZbZmRZCqcFpyAaLqL"},
			"project":    object{"id": "prj_12HKQaOmR5t5Uy6vdcQsNIiZgHGB"},
			"deployment": object{"id": "dpl_89qyp1cskzkLrVicDaZoDbjyHuDJ", "name": "demo", "url": "demo-hooklatch.vercel.app", "meta": object{}},
			"target":     "production", "plan": "pro", "regions": []string{"sfo1"},
		},
	})
}
