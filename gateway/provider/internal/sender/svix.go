package sender

import (
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// Svix declares senders that deliver through Svix and have no separate declaration. Source:
// docs.svix.com/receiving/verifying-payloads; svix-webhooks libraries.
func Svix(o provider.Options) (*provider.Provider, error) {
	p, err := proof.ViaSvix(o)
	if err != nil {
		return nil, err
	}
	p.Name, p.Title = "svix", "Svix"
	p.About = provider.About{
		Confirmed: provider.Confirmed{
			Signature:   provider.Documentation | provider.Vector | provider.SDK,
			EventID:     provider.Documentation,
			Handshake:   provider.NoSuchThing,
			RetryWindow: provider.Documentation,
			Resend:      provider.Nobody,
		},
		Signing: proof.SvixSigning,
		KeyRule: proof.SvixKeyRule,
		Setup: []string{
			"In the sender's webhook portal, add an endpoint with the URL {url}, and choose the events.",
			"Copy the signing secret of the endpoint (`whsec_...`): it is the secret of the source.",
		},
		Notes: []string{
			proof.SvixTries,
			proof.SvixReplays,
			"The type of an event is read from /type of the body, where most senders put it; `type` names another location.",
			"Unconfirmed: the response deadline is 15 s.",
		},
		Backfill: "Recover in the portal resends all messages that failed after a date, with the same ids.",
		Docs:     "https://docs.svix.com/receiving/verifying-payloads/how",
	}
	return p, nil
}
