package sender

import (
	"cmp"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// Calendly declares the webhook subscriptions of Calendly's API v2.
// Source: developer.calendly.com, "Webhook signatures".
func Calendly(o provider.Options) (*provider.Provider, error) {
	s := proof.TimedBody("Calendly-Webhook-Signature", proof.Seconds, proof.Tolerance(o, 3*time.Minute))
	f := proof.Facts{
		ID:       proof.Whole(),
		Kind:     proof.At("/event"),
		Occurred: proof.Clock{Pointer: "/created_at"},
	}
	return proof.SignedBy(s, &provider.Provider{
		Name:           "calendly",
		Title:          "Calendly",
		HeaderFamilies: []string{"Calendly-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Others,
				EventID:     provider.Nobody,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Nobody,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA256 over the time and the body, in hex, in the header Calendly-Webhook-Signature.",
			KeyRule: "A hash of the whole body: Calendly sends no event id, and one invitee (payload.uri) has several events.",
			Setup: []string{
				"Generate a signing key, for example 32 random bytes in hex.",
				"Create the subscription with POST https://api.calendly.com/webhook_subscriptions. Set url to {url} and signing_key to " +
					"the key, and list the events.",
				"The same key is the secret of the source. Without signing_key, Calendly signs nothing and every delivery is refused.",
			},
			Notes: []string{
				proof.KeyHasMore,
				"A rescheduled meeting is two events: invitee.canceled and invitee.created.",
				"Unconfirmed: each attempt is signed anew, and the subscription is disabled after 24 hours of retries. The tolerance of " +
					"180 s and the deadline of 15 s are also unconfirmed.",
			},
			Backfill: "GET /scheduled_events?min_start_time= and the lists of invitees return the current state, not the events.",
			Docs:     "https://developer.calendly.com/api-docs/ZG9jOjM2MzE2MDM4-webhook-signatures",
		},
		Events:      f.Events,
		Sample:      sampleCalendly,
		Deadline:    15 * time.Second,
		RetryWindow: proof.Day,
	}), nil
}

func sampleCalendly(eventType, id string, now time.Time) *provider.Request {
	created := now.UTC().Format(time.RFC3339Nano)
	event := "https://api.calendly.com/scheduled_events/GBGBDCAADAEDCRZ2"
	return proof.SampleJSON(proof.Object{
		"event": cmp.Or(eventType, "invitee.created"), "created_at": created, "created_by": "https://api.calendly.com/users/AAAAAAAAAAAAAAAA",
		"payload": proof.Object{
			"uri": event + "/invitees/" + cmp.Or(id, proof.FreshID("")), "event": event, "email": "ada@example.com", "name": "Ada Lovelace",
			"status": "active", "timezone": "Europe/London", "rescheduled": false, "created_at": created, "updated_at": created,
			"questions_and_answers": []proof.Object{},
		},
	})
}
