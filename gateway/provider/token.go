package provider

import (
	"cmp"
	"net/http"
	"slices"
)

// newToken takes requests that carry a fixed token in a header or in the URL.
func newToken(o Options) (*Provider, error) {
	t := &staticToken{query: o.Query}
	if o.Query == "" {
		t.header, t.prefix = authorization, bearer
		if o.Header != "" {
			if err := validateHeader("header", o.Header); err != nil {
				return nil, err
			}
			t.header, t.prefix = http.CanonicalHeaderKey(o.Header), o.Prefix
		}
		t.prefix = cmp.Or(o.Prefix, t.prefix)
	}
	if o.Query != "" && cmp.Or(o.Header, o.Prefix) != "" {
		return nil, &OptionError{Field: "query", Value: o.Query, Allowed: "either query, or header and prefix"}
	}
	p, err := byToken(o, t)
	if err != nil {
		return nil, err
	}
	p.Name, p.Title = "token", "Static token"
	p.About = About{
		Confirmed: Confirmed,
		Signing: "Nothing is signed: the request carries the secret itself, in the header `Authorization: Bearer ...`, in another " +
			"header or in a parameter of the URL. It is compared in constant time.",
		KeyRule: "What `event_id` says: a header, a JSON pointer, a form field, several of them joined, or a hash of several.",
		Setup: []string{
			"Let the sender call {url} with a token of at least 32 random bytes.",
			"Say with `header` (and `prefix`) or `query` where it stands, and with `event_id` what makes two deliveries the same event.",
		},
		Notes: []string{
			"Whoever sees one request can make any other. Prefer a sender that signs.",
			"A token in the URL ends up in the logs of every proxy on the way. Hooklatch never logs it.",
		},
	}
	return p, nil
}

// newBasic takes requests with a user and a password.
func newBasic(o Options) (*Provider, error) {
	p, err := byToken(o, &staticToken{header: authorization, prefix: "Basic ", basic: true})
	if err != nil {
		return nil, err
	}
	p.Name, p.Title = "basic", "HTTP basic authentication"
	p.About = About{
		Confirmed: Confirmed,
		Signing: "Nothing is signed: the request carries user and password (RFC 7617). The secret is `user:password`; it is " +
			"compared in constant time.",
		KeyRule: "What `event_id` says: a header, a JSON pointer, a form field, several of them joined, or a hash of several.",
		Setup: []string{
			"Let the sender call {url} with a user and a long random password; many take them as https://user:password@host/path.",
			"Say with `event_id` what makes two deliveries the same event.",
		},
		Notes: []string{"Whoever sees one request can make any other. Prefer a sender that signs."},
		Docs:  "https://www.rfc-editor.org/rfc/rfc7617",
	}
	return p, nil
}

// byToken makes a provider that proves by a token, with events as the options
// describe them.
func byToken(o Options, t *staticToken) (*Provider, error) {
	g, err := newOwnEvents(o, field{})
	if err != nil {
		return nil, err
	}
	// The header of the token may not be one that describes events.
	if slices.Contains(g.headers(), t.header) {
		return nil, &OptionError{Field: "event_id", Value: t.header, Allowed: "another header than that of the secret"}
	}
	t.single = g.headers()
	p := &Provider{
		Verify:      t.verify,
		Events:      g.events,
		Methods:     []string{http.MethodPost},
		CheckSecret: t.checkConfigured,
		Sign:        t.sign,
		Sample:      g.sample,
	}
	if t.query != "" {
		p.SecretQuery = []string{t.query}
	} else {
		p.SecretHeaders = []string{t.header}
	}
	return p, nil
}
