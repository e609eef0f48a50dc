package sender

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// JwtOptions lists the options of provider jwt that describe the token.
var JwtOptions = []string{
	"tolerance", "header", "prefix", "audience", "issuer", "jwks_url", "jwks_file", "algorithms", "claims", "body_hash_claim", "max_age",
}

// JWT builds the provider for senders that send a JSON Web Token. The token is signed with a shared
// secret, or with a key pair whose public key the sender publishes.
func JWT(o provider.Options) (*provider.Provider, error) {
	w, err := jwtToken(o)
	if err != nil {
		return nil, err
	}
	g, err := proof.NewOwnEvents(o, proof.Field{})
	if err != nil {
		return nil, err
	}
	if slices.Contains(g.Headers(), w.Header) {
		return nil, &provider.OptionError{Field: "event_id", Value: w.Header, Allowed: "must differ from the header of the token"}
	}
	w.Single = g.Headers()
	return &provider.Provider{
		Name:  "jwt",
		Title: "JSON Web Token",
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation,
				EventID:     provider.Configured,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Configured,
				Resend:      provider.Configured,
			},
			Signing: "A JSON Web Token (RFC 7519) in a header: HS256, HS384 or HS512 with a shared secret, or RS*, PS*, ES* and EdDSA " +
				"with keys published as a JSON Web Key Set. Hooklatch checks issuer, audience, times and further claims and, with " +
				"`body_hash_claim`, the hash of the body.",
			KeyRule: "The configured `event_id`: a header, a JSON pointer, a form field, several of them joined, or a hash of several.",
			Setup: []string{
				"Configure the sender to call {url} with a token issued for your `audience`.",
				"Set the sender's keys with `jwks_url` or `jwks_file`, or the shared secret with `secrets`.",
				"Set `event_id` to the location of the event's id.",
			},
			Notes: []string{
				"Without `body_hash_claim` the token proves who sent a request, not what it says. Anyone who sees a request can send " +
					"other bodies until the token expires.",
				"`alg: none` is always refused, and so is every algorithm that `algorithms` does not list.",
			},
			Docs: "https://www.rfc-editor.org/rfc/rfc7519",
		},
		Verify:        w.Verify,
		Challenge:     proof.ChallengeOf(w.Header, w.Prefix),
		Events:        g.Events,
		CheckSecret:   w.Check,
		Sign:          w.Sign,
		Sample:        g.Sample,
		Keyless:       w.Keys != nil,
		SecretHeaders: []string{w.Header},
		ReplayToken:   w.ReplayToken,
	}, nil
}

// jwtToken returns the token scheme that the options describe.
func jwtToken(o provider.Options) (*proof.WebToken, error) {
	w := &proof.WebToken{Header: proof.Authorization, Prefix: proof.Bearer, Audience: o.Audience, Claims: o.Claims, BodyHash: o.BodyHashClaim}
	if o.Header != "" {
		if err := proof.ValidateHeader("header", o.Header); err != nil {
			return nil, err
		}
		w.Header, w.Prefix = http.CanonicalHeaderKey(o.Header), ""
	}
	if o.Prefix != "" {
		w.Prefix = o.Prefix
	}
	if o.Issuer != "" {
		w.Issuers = []string{o.Issuer}
	}
	if err := jwtTimes(o, w); err != nil {
		return nil, err
	}
	if err := jwtKeys(o, w); err != nil {
		return nil, err
	}
	allowed := proof.SecretAlgorithms
	w.Algorithms = []string{"HS256"}
	if w.Keys != nil {
		allowed, w.Algorithms = proof.PublicAlgorithms, []string{"RS256", "ES256"}
	}
	for _, algorithm := range o.Algorithms {
		// Algorithms are either for secrets or for keys: a public key must never serve as an
		// HMAC secret.
		if !slices.Contains(allowed, algorithm) {
			return nil, &provider.OptionError{Field: "algorithms", Value: algorithm, Allowed: "must be one of " + strings.Join(allowed, ", ")}
		}
	}
	if len(o.Algorithms) > 0 {
		w.Algorithms = o.Algorithms
	}
	if w.Keys != nil && o.Audience == "" {
		return nil, &provider.OptionError{Field: "audience", Allowed: "required with published keys: the sender also signs tokens for other audiences with them"}
	}
	return w, nil
}

func jwtTimes(o provider.Options, w *proof.WebToken) error {
	switch {
	case o.MaxAge < 0:
		return &provider.OptionError{Field: "max_age", Value: o.MaxAge.String(), Allowed: "must be more than zero"}
	case o.Tolerance < 0:
		return &provider.OptionError{Field: "tolerance", Value: "off", Allowed: "must be a duration: for this provider it is the allowed difference between the clocks"}
	}
	w.MaxAge, w.Leeway = o.MaxAge, proof.Tolerance(o, proof.StandardLeeway)
	return nil
}

func jwtKeys(o provider.Options, w *proof.WebToken) error {
	switch {
	case o.JWKSURL != "" && o.JWKSFile != "":
		return &provider.OptionError{Field: "jwks_file", Value: o.JWKSFile, Allowed: "at most one of jwks_url and jwks_file"}
	case o.JWKSURL != "":
		u, err := url.Parse(o.JWKSURL)
		if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Port() != "" && u.Port() != "443" {
			return &provider.OptionError{Field: "jwks_url", Value: o.JWKSURL, Allowed: "must be an https URL without user and port"}
		}
		w.Keys = proof.KeysByURL(proof.NewFetcher(o, strings.ToLower(u.Hostname())), o.JWKSURL)
	case o.JWKSFile != "":
		keys, err := proof.KeysInFile(o.JWKSFile)
		if err != nil {
			return &provider.OptionError{Field: "jwks_file", Value: o.JWKSFile, Allowed: "must be a file with a JSON Web Key Set: " + err.Error()}
		}
		w.Keys = keys
	}
	return nil
}
