package sender

import (
	"cmp"
	"net/http"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// Token builds the provider for senders that send a fixed token in a header or in the URL.
func Token(o provider.Options) (*provider.Provider, error) {
	t := &proof.StaticToken{Query: o.Query}
	if o.Query == "" {
		t.Header, t.Prefix = proof.Authorization, proof.Bearer
		if o.Header != "" {
			if err := proof.ValidateHeader("header", o.Header); err != nil {
				return nil, err
			}
			t.Header, t.Prefix = http.CanonicalHeaderKey(o.Header), o.Prefix
		}
		t.Prefix = cmp.Or(o.Prefix, t.Prefix)
	}
	if o.Query != "" && cmp.Or(o.Header, o.Prefix) != "" {
		return nil, &provider.OptionError{Field: "query", Value: o.Query, Allowed: "must be either query, or header with an optional prefix"}
	}
	p, err := proof.ByToken(o, t)
	if err != nil {
		return nil, err
	}
	p.Name, p.Title = "token", "Static token"
	p.About = provider.About{
		Confirmed: provider.Confirmed{
			Signature:   provider.Configured,
			EventID:     provider.Configured,
			Handshake:   provider.NoSuchThing,
			RetryWindow: provider.Configured,
			Resend:      provider.Configured,
		},
		Signing: "Nothing is signed: the request carries the secret itself, in the header `Authorization: Bearer ...`, in another " +
			"header or in a parameter of the URL. It is compared in constant time.",
		KeyRule: "The configured `event_id`: a header, a JSON pointer, a form field, several of them joined, or a hash of several.",
		Setup: []string{
			"Configure the sender to call {url} with a token of at least 32 random bytes.",
			"Set `header` (and `prefix`) or `query` to the location of the token, and `event_id` to the location of the event's id.",
		},
		Notes: []string{
			"Anyone who sees one request can forge any other. Prefer a sender that signs.",
			"A token in the URL ends up in the logs of every proxy on the way. Hooklatch never logs it.",
		},
	}
	return p, nil
}
