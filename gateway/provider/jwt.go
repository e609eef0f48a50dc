package provider

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// jwtOptions are the options about the token.
var jwtOptions = []string{
	"tolerance", "header", "prefix", "audience", "issuer", "jwks_url", "jwks_file", "algorithms", "claims", "body_hash_claim", "max_age",
}

// newJWT takes requests with a JSON Web Token, signed with a shared secret or
// with keys the sender publishes.
func newJWT(o Options) (*Provider, error) {
	w, err := jwtToken(o)
	if err != nil {
		return nil, err
	}
	g, err := newOwnEvents(o, field{})
	if err != nil {
		return nil, err
	}
	if slices.Contains(g.headers(), w.header) {
		return nil, &OptionError{Field: "event_id", Value: w.header, Allowed: "another header than that of the token"}
	}
	w.single = g.headers()
	return &Provider{
		Name:  "jwt",
		Title: "JSON Web Token",
		About: About{
			Confirmed: Confirmed,
			Signing: "A JSON Web Token (RFC 7519) in a header: HS256, HS384 or HS512 with a shared secret, or RS*, PS*, ES* and EdDSA " +
				"with keys published as a JSON Web Key Set. Issuer, audience, times and further claims are checked, and the hash of " +
				"the body where the token has it.",
			KeyRule: "What `event_id` says: a header, a JSON pointer, a form field, several of them joined, or a hash of several.",
			Setup: []string{
				"Let the sender call {url} with a token made for this audience.",
				"Give its keys with `jwks_url` or `jwks_file`, or the shared secret with `secrets`.",
				"Say with `event_id` what makes two deliveries the same event.",
			},
			Notes: []string{
				"Without `body_hash_claim` the token proves who sent a request, not what it says: whoever sees one can send other " +
					"bodies until the token expires.",
				"`alg: none` is refused always, and every algorithm that `algorithms` does not name.",
			},
			Docs: "https://www.rfc-editor.org/rfc/rfc7519",
		},
		Verify:        w.verify,
		Events:        g.events,
		Methods:       []string{http.MethodPost},
		CheckSecret:   w.check,
		Sign:          w.sign,
		Sample:        g.sample,
		Keyless:       w.keys != nil,
		SecretHeaders: []string{w.header},
		ReplayToken:   w.replayToken,
	}, nil
}

// jwtToken builds the declaration that the options spell out.
func jwtToken(o Options) (*webToken, error) {
	w := &webToken{header: authorization, prefix: bearer, audience: o.Audience, claims: o.Claims, bodyHash: o.BodyHashClaim}
	if o.Header != "" {
		if err := validateHeader("header", o.Header); err != nil {
			return nil, err
		}
		w.header, w.prefix = http.CanonicalHeaderKey(o.Header), ""
	}
	if o.Prefix != "" {
		w.prefix = o.Prefix
	}
	if o.Issuer != "" {
		w.issuers = []string{o.Issuer}
	}
	if err := jwtTimes(o, w); err != nil {
		return nil, err
	}
	if err := jwtKeys(o, w); err != nil {
		return nil, err
	}
	allowed := secretAlgorithms
	w.algorithms = []string{"HS256"}
	if w.keys != nil {
		allowed, w.algorithms = publicAlgorithms, []string{"RS256", "ES256"}
	}
	for _, algorithm := range o.Algorithms {
		// One set of algorithms for secrets and one for keys: a public key must
		// never serve as the secret of an HMAC.
		if !slices.Contains(allowed, algorithm) {
			return nil, &OptionError{Field: "algorithms", Value: algorithm, Allowed: "must be among " + strings.Join(allowed, ", ")}
		}
	}
	if len(o.Algorithms) > 0 {
		w.algorithms = o.Algorithms
	}
	if w.keys != nil && o.Audience == "" {
		return nil, &OptionError{Field: "audience", Allowed: "required with published keys: the sender signs tokens for others with them too"}
	}
	return w, nil
}

func jwtTimes(o Options, w *webToken) error {
	switch {
	case o.MaxAge < 0:
		return &OptionError{Field: "max_age", Value: o.MaxAge.String(), Allowed: "must be more than zero"}
	case o.Tolerance < 0:
		return &OptionError{Field: "tolerance", Value: "off", Allowed: "must be a duration: here it is what the two clocks may differ by"}
	}
	w.maxAge, w.leeway = o.MaxAge, tolerance(o, standardLeeway)
	return nil
}

func jwtKeys(o Options, w *webToken) error {
	switch {
	case o.JWKSURL != "" && o.JWKSFile != "":
		return &OptionError{Field: "jwks_file", Value: o.JWKSFile, Allowed: "at most one of jwks_url and jwks_file"}
	case o.JWKSURL != "":
		u, err := url.Parse(o.JWKSURL)
		if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Port() != "" && u.Port() != "443" {
			return &OptionError{Field: "jwks_url", Value: o.JWKSURL, Allowed: "must be a URL with https and without user and port"}
		}
		w.keys = keysByURL(newFetcher(o, strings.ToLower(u.Hostname())), o.JWKSURL)
	case o.JWKSFile != "":
		keys, err := keysInFile(o.JWKSFile)
		if err != nil {
			return &OptionError{Field: "jwks_file", Value: o.JWKSFile, Allowed: "must be a file with a JSON Web Key Set: " + err.Error()}
		}
		w.keys = keys
	}
	return nil
}
