// Package graphapi implements the code shared by all Meta products that send webhooks through
// the Graph API.
package graphapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/internal/payload"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Signing is the explanation of the signature for the page of each product.
const Signing = "HMAC-SHA256 over the body, in hex after sha256= in the header `X-Hub-Signature-256`. No time is signed."

// Setup returns the steps that set up a product's source in the App Dashboard.
func Setup(product string) []string {
	return []string{
		"Open App Dashboard, App settings, Basic: the App Secret is the secret of the source.",
		"Choose a verify token and set it as `verify_token` of the source. Start the gateway: Meta checks the URL when you save it.",
		"Open " + product + ", Configuration. Enter the callback URL {url} and the same verify token, then subscribe to the fields.",
	}
}

// Notes returns the notes that apply to every product.
func Notes() []string {
	return []string{
		"One delivery carries up to 1,000 updates. Each becomes a separate event, and the body is stored once.",
		"Duplicates and out-of-order deliveries are normal.",
		"The older header `X-Hub-Signature` (SHA-1) is ignored.",
		"The URL check is refused until `verify_token` is set.",
		"Unconfirmed: bodies have up to 3 MB.",
	}
}

const verifyToken = "hub.verify_token"

// Product returns a provider with the fields that all Meta products share.
func Product(o provider.Options) *provider.Provider {
	s := &proof.Scheme{
		Headers:  []proof.HeaderNames{{Signature: "X-Hub-Signature-256"}},
		Prefix:   "sha256=",
		Hash:     sha256.New,
		Encoding: proof.Hex,
		Template: proof.Template{proof.InBody},
		Secret:   proof.KeySpelling{Encoding: proof.Raw},
	}
	return &provider.Provider{
		HeaderFamilies: []string{"X-Hub-Signature*"},

		Verify: s.Verify,
		Events: events().Events,
		Handshake: func(_ context.Context, r *provider.Request, _ []secret.Value, _ time.Time) (*provider.Answer, error) {
			return handshake(r, o.VerifyToken)
		},
		Methods:     []string{http.MethodGet, http.MethodPost},
		CheckSecret: s.CheckSecret,
		Sign:        s.Sign,
		SecretQuery: []string{verifyToken},
		ReplayToken: s.ReplayToken,
		MaxBody:     3 << 20,
	}
}

// handshake answers a URL check: it echoes the challenge of a GET that contains the verify token.
func handshake(r *provider.Request, token secret.Value) (*provider.Answer, error) {
	if r.Method != http.MethodGet || r.URL == nil {
		return nil, nil
	}
	query := payload.ParseForm(r.URL.RawQuery)
	given, challenge := query[verifyToken], query["hub.challenge"]
	switch {
	case query.Get("hub.mode") != "subscribe" || len(challenge) != 1:
		return nil, &provider.VerifyError{Reason: provider.ReasonMissingSignature, Detail: "a GET that is not a URL check"}
	case len(given) != 1:
		return nil, &provider.VerifyError{Reason: provider.ReasonMissingToken, Detail: verifyToken}
	case token.IsZero():
		return nil, &provider.VerifyError{Reason: provider.ReasonWrongToken, Detail: "the source has no verify_token"}
	case subtle.ConstantTimeCompare([]byte(given[0]), []byte(token.Reveal())) != 1:
		return nil, &provider.VerifyError{Reason: provider.ReasonWrongToken, Detail: verifyToken}
	}
	return &provider.Answer{Status: http.StatusOK, ContentType: "text/plain; charset=utf-8", Body: []byte(challenge[0])}, nil
}
