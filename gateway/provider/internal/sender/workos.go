package sender

import (
	"cmp"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// WorkOS declares WorkOS's events. Source: workos.com/docs/events; workos-node src/webhooks.
func WorkOS(o provider.Options) (*provider.Provider, error) {
	s := proof.TimedBody("Workos-Signature", proof.Milliseconds, proof.Tolerance(o, 3*time.Minute))
	f := proof.Facts{
		ID:       proof.Verbatim(proof.At("/id")),
		Kind:     proof.At("/event"),
		Occurred: proof.Clock{Pointer: "/created_at"},
	}
	return proof.SignedBy(s, &provider.Provider{
		Name:           "workos",
		Title:          "WorkOS",
		HeaderFamilies: []string{"Workos-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation | provider.SDK,
				EventID:     provider.Documentation,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Nobody,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA256 over the time in milliseconds, a dot and the body, in hex after `v1=` in the header " +
				"`WorkOS-Signature`. Hooklatch refuses a time that differs from its own by more than 180 s, as WorkOS's libraries do.",
			KeyRule: "`/id` of the body (event_...).",
			Setup: []string{
				"Open Dashboard, Webhooks, Create Webhook. Enter the endpoint URL {url}, and choose the events.",
				"The page of the endpoint shows the signing secret: it is the secret of the source.",
			},
			Notes: []string{
				"Staging and production have separate endpoints and secrets: use two sources.",
				"Unconfirmed: WorkOS retries 6 times within 3 days, and signs each retry anew. A user can resend from the dashboard.",
				"The Events API is an ordered feed of the same events; use it if no event may be missed or arrive out of order.",
			},
			Backfill: "GET /events?events[]=...&after= lists the events in order, with the same ids. Unconfirmed: it goes back 30 to 90 " +
				"days.",
			Docs: "https://workos.com/docs/events/data-syncing/webhooks",
		},
		Events:      f.Events,
		Sample:      sampleWorkOS,
		ReplayToken: s.ReplayToken,
		RetryWindow: 3 * proof.Day,
	}), nil
}

func sampleWorkOS(eventType, id string, now time.Time) *provider.Request {
	eventType = cmp.Or(eventType, "dsync.user.created")
	at := now.UTC().Format(time.RFC3339Nano)
	data := proof.Object{"id": proof.FreshID("obj_"), "object": eventType[:max(0, strings.LastIndexByte(eventType, '.'))], "created_at": at, "updated_at": at}
	switch {
	case strings.HasPrefix(eventType, "dsync.user."):
		data["object"], data["state"], data["directory_id"] = "directory_user", "active", "directory_01"
		data["first_name"], data["last_name"], data["email"] = "Ada", "Lovelace", "ada@example.com"
	case strings.HasPrefix(eventType, "user."):
		data["email"], data["first_name"], data["last_name"], data["email_verified"] = "ada@example.com", "Ada", "Lovelace", true
	}
	return proof.SampleJSON(proof.Object{"id": cmp.Or(id, proof.FreshID("event_")), "event": eventType, "created_at": at, "data": data, "context": proof.Object{}})
}
