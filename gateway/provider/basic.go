package provider

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
