package sender

import (
	"cmp"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// Clerk declares Clerk, which delivers through Svix.
// Source: clerk.com/docs/webhooks/overview.
func Clerk(o provider.Options) (*provider.Provider, error) {
	o.OccurredAt = provider.Clock{Pointer: "/timestamp", Unit: string(proof.Milliseconds)}
	p, err := proof.ViaSvix(o)
	if err != nil {
		return nil, err
	}
	p.Name, p.Title = "clerk", "Clerk"
	p.About = provider.About{
		Confirmed: provider.Confirmed{
			Signature:   provider.Documentation | provider.SDK,
			EventID:     provider.Documentation,
			Handshake:   provider.NoSuchThing,
			RetryWindow: provider.Documentation,
			Resend:      provider.Nobody,
		},
		Signing: proof.SvixSigning,
		KeyRule: proof.SvixKeyRule + " `/data/id` names the user or the organisation, not the event.",
		Setup: []string{
			"Open Dashboard, Configure, Webhooks, Add Endpoint. Enter the URL {url}, and choose the events.",
			"The page of the endpoint shows the signing secret (`whsec_...`): it is the secret of the source.",
		},
		Notes: []string{
			"Development and production instances have separate endpoints and secrets: use two sources.",
			proof.SvixTries,
			proof.SvixReplays,
			"Unconfirmed: the response deadline is 15 s.",
		},
		Backfill: "Replay or recover on the page of the endpoint resends failed messages, with the same ids.",
		Docs:     "https://clerk.com/docs/webhooks/overview",
	}
	p.Sample = sampleClerk
	return p, nil
}

func sampleClerk(eventType, id string, now time.Time) *provider.Request {
	eventType = cmp.Or(eventType, "user.created")
	thing, _, _ := strings.Cut(eventType, ".")
	data := proof.Object{"id": thing + "_29w83sxmDNGwOuEthce5gg56FcC", "object": thing, "created_at": now.UnixMilli(), "updated_at": now.UnixMilli()}
	if thing == "user" {
		data["first_name"], data["last_name"] = "Ada", "Lovelace"
		data["email_addresses"] = []proof.Object{{"id": "idn_29w83yL7CwVlJXylYLxcslromF1", "object": "email_address", "email_address": "ada@example.com"}}
	}
	return proof.SampleSvix(id, proof.Object{
		"type": eventType, "object": "event", "timestamp": now.UnixMilli(), "instance_id": "ins_2g7np7Hrk0SN6kj5EDMLDaKNL0S", "data": data,
	})
}
