package provider

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"time"
)

// newCalendly knows the webhook subscriptions of Calendly's API v2.
// Source: developer.calendly.com, "Webhook signatures".
func newCalendly(o Options) (*Provider, error) {
	s := &scheme{
		headers:   []headerNames{{signature: "Calendly-Webhook-Signature"}},
		pairs:     &pairs{separator: ",", assign: "=", signature: "v1", timestamp: "t"},
		hash:      sha256.New,
		encoding:  hexDigits,
		template:  template{inTimestamp, ".", inBody},
		secret:    keySpelling{encoding: rawBytes},
		unit:      seconds,
		tolerance: tolerance(o, 3*time.Minute),
	}
	f := facts{
		id:       hashed(at("/event"), at("/payload/uri"), at("/created_at")),
		kind:     at("/event"),
		occurred: clock{Pointer: "/created_at"},
	}
	return &Provider{
		Name:  "calendly",
		Title: "Calendly",
		About: About{
			Confirmed: Unconfirmed,
			Signing:   "HMAC-SHA256 over the time and the body, in hex, in the header Calendly-Webhook-Signature.",
			KeyRule:   "A hash of /event, /payload/uri and /created_at: Calendly sends no event id, and one invitee (payload.uri) has several events.",
			Setup: []string{
				"Make up a signing key, 32 random bytes in hex for example.",
				"Create the subscription with POST https://api.calendly.com/webhook_subscriptions: url {url}, the events, and the key as signing_key.",
				"The same key is the secret of the source. Without signing_key Calendly signs nothing and every delivery is refused.",
			},
			Notes: []string{
				"A rescheduled meeting is two events: invitee.canceled and invitee.created.",
				"Unconfirmed: the tolerance of 180 s, the deadline of 15 s, and the retries over 24 hours, after which the subscription is disabled.",
			},
			Backfill: "GET /scheduled_events?min_start_time= and the invitees of each: state, not events.",
			Docs:     "https://developer.calendly.com/api-docs/ZG9jOjM2MzE2MDM4-webhook-signatures",
		},
		Verify:      s.verify,
		Events:      f.events,
		Methods:     []string{http.MethodPost},
		CheckSecret: s.secret.check,
		Sign:        s.sign,
		Sample:      sampleCalendly,
		Deadline:    15 * time.Second,
		RetryWindow: day,
	}, nil
}

func sampleCalendly(eventType, id string, now time.Time) *Request {
	created := now.UTC().Format(time.RFC3339Nano)
	event := "https://api.calendly.com/scheduled_events/GBGBDCAADAEDCRZ2"
	return sampleJSON(object{
		"event": cmp.Or(eventType, "invitee.created"), "created_at": created, "created_by": "https://api.calendly.com/users/AAAAAAAAAAAAAAAA",
		"payload": object{
			"uri": event + "/invitees/" + cmp.Or(id, freshID("")), "event": event, "email": "ada@example.com", "name": "Ada Lovelace",
			"status": "active", "timezone": "Europe/London", "rescheduled": false, "created_at": created, "updated_at": created,
			"questions_and_answers": []object{},
		},
	})
}
