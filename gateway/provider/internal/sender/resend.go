package sender

import (
	"cmp"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// Resend declares Resend, which delivers through Svix.
// Source: resend.com/docs/dashboard/webhooks.
func Resend(o provider.Options) (*provider.Provider, error) {
	o.OccurredAt = provider.Clock{Pointer: "/created_at"}
	p, err := proof.ViaSvix(o)
	if err != nil {
		return nil, err
	}
	p.Name, p.Title = "resend", "Resend"
	p.About = provider.About{
		Confirmed: provider.Confirmed{
			Signature:   provider.Documentation | provider.SDK,
			EventID:     provider.Documentation,
			Handshake:   provider.NoSuchThing,
			RetryWindow: provider.Documentation,
			Resend:      provider.Nobody,
		},
		Signing: proof.SvixSigning,
		KeyRule: proof.SvixKeyRule + " `/data/email_id` is the same for all events of an email.",
		Setup: []string{
			"Open Dashboard, Webhooks, Add Webhook. Enter the URL {url}, and choose the events.",
			"The page of the webhook shows the signing secret (`whsec_...`): it is the secret of the source.",
		},
		Notes: []string{
			proof.SvixTries,
			proof.SvixReplays,
			"The events of an email may arrive out of order.",
			"Unconfirmed: the response deadline is 15 s.",
		},
		Backfill: "Replay on the page of the webhook sends an event again, with the same id.",
		Docs:     "https://resend.com/docs/dashboard/webhooks/introduction",
	}
	p.Sample = sampleResend
	return p, nil
}

func sampleResend(eventType, id string, now time.Time) *provider.Request {
	at := now.UTC().Format(time.RFC3339Nano)
	return proof.SampleSvix(id, proof.Object{
		"type": cmp.Or(eventType, "email.delivered"), "created_at": at, "data": proof.Object{
			"email_id": uuid.NewString(), "created_at": at, "from": "Acme <hello@acme.example>", "to": []string{"ada@example.com"},
			"subject": "Hello from Hooklatch",
		},
	})
}
