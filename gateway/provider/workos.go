package provider

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"strings"
	"time"
)

// newWorkOS knows the events of WorkOS.
// Source: workos.com/docs/events; workos-node src/webhooks.
func newWorkOS(o Options) (*Provider, error) {
	s := &scheme{
		headers:   []headerNames{{signature: "Workos-Signature"}},
		pairs:     &pairs{separator: ",", assign: "=", signature: "v1", timestamp: "t"},
		hash:      sha256.New,
		encoding:  hexDigits,
		template:  template{inTimestamp, ".", inBody},
		secret:    keySpelling{encoding: rawBytes},
		unit:      milliseconds,
		tolerance: tolerance(o, 3*time.Minute),
	}
	f := facts{
		id:       verbatim(at("/id")),
		kind:     at("/event"),
		occurred: clock{Pointer: "/created_at"},
	}
	return &Provider{
		Name:  "workos",
		Title: "WorkOS",
		About: About{
			Confirmed: Unconfirmed,
			Signing: "HMAC-SHA256 over the time in milliseconds, a dot and the body, in hex behind `v1=` in the header `WorkOS-Signature`. " +
				"A time more than 180 s off is refused, as WorkOS's libraries do.",
			KeyRule: "`/id` of the body (event_...).",
			Setup: []string{
				"Dashboard, Webhooks, Create Webhook: endpoint URL {url}, and the events.",
				"The page of the endpoint shows the signing secret: it is the secret of the source.",
			},
			Notes: []string{
				"Staging and production have endpoints and secrets of their own: two sources.",
				"Unconfirmed: 6 retries within 3 days, each signed anew; a person can send again from the dashboard.",
				"The Events API is an ordered feed of the same events; where nothing may be missed or come out of order it is the better way.",
			},
			Backfill: "GET /events?events[]=...&after=: in order, with the same ids. Unconfirmed: 30 to 90 days back.",
			Docs:     "https://workos.com/docs/events/data-syncing/webhooks",
		},
		Verify:      s.verify,
		Events:      f.events,
		Methods:     []string{http.MethodPost},
		CheckSecret: s.checkSecret,
		Sign:        s.sign,
		Sample:      sampleWorkOS,
		ReplayToken: s.replayToken,
		RetryWindow: 3 * day,
	}, nil
}

func sampleWorkOS(eventType, id string, now time.Time) *Request {
	eventType = cmp.Or(eventType, "dsync.user.created")
	at := now.UTC().Format(time.RFC3339Nano)
	data := object{"id": freshID("obj_"), "object": eventType[:max(0, strings.LastIndexByte(eventType, '.'))], "created_at": at, "updated_at": at}
	switch {
	case strings.HasPrefix(eventType, "dsync.user."):
		data["object"], data["state"], data["directory_id"] = "directory_user", "active", "directory_01"
		data["first_name"], data["last_name"], data["email"] = "Ada", "Lovelace", "ada@example.com"
	case strings.HasPrefix(eventType, "user."):
		data["email"], data["first_name"], data["last_name"], data["email_verified"] = "ada@example.com", "Ada", "Lovelace", true
	}
	return sampleJSON(object{"id": cmp.Or(id, freshID("event_")), "event": eventType, "created_at": at, "data": data, "context": object{}})
}
