package sender

import (
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// Basic builds the provider for senders that authenticate with a user name and a password.
func Basic(o provider.Options) (*provider.Provider, error) {
	p, err := proof.ByToken(o, &proof.StaticToken{Header: proof.Authorization, Prefix: proof.Basic, Basic: true})
	if err != nil {
		return nil, err
	}
	p.Name, p.Title = "basic", "HTTP basic authentication"
	p.About = provider.About{
		Confirmed: provider.Confirmed{
			Signature:   provider.Documentation,
			EventID:     provider.Configured,
			Handshake:   provider.NoSuchThing,
			RetryWindow: provider.Configured,
			Resend:      provider.Configured,
		},
		Signing: "Nothing is signed: the request carries a user name and a password (RFC 7617). The secret is `user:password`; it is " +
			"compared in constant time.",
		KeyRule: "The configured `event_id`: a header, a JSON pointer, a form field, several of them joined, or a hash of several.",
		Setup: []string{
			"Configure the sender to call {url} with a user name and a long random password; many senders accept them as https://user:password@host/path.",
			"Set `event_id` to the location of the event's id.",
		},
		Notes: []string{"Anyone who sees one request can forge any other. Prefer a sender that signs."},
		Docs:  "https://www.rfc-editor.org/rfc/rfc7617",
	}
	return p, nil
}
