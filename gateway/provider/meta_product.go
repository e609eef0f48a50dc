package provider

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"time"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

const metaSigning = "HMAC-SHA256 over the body, in hex behind sha256= in the header `X-Hub-Signature-256`. No time is signed."

func metaSetup(product string) []string {
	return []string{
		"App Dashboard, App settings, Basic: the App Secret is the secret of the source.",
		"Make up a verify token, and set it as `verify_token` of the source. Start the gateway: Meta checks the URL while it is saved.",
		product + ", Configuration: callback URL {url}, the same verify token, then subscribe to the fields.",
	}
}

func metaNotes() []string {
	return []string{
		"One delivery carries up to 1,000 updates. Each becomes an event of its own, and the body is stored once.",
		"Duplicates and another order are normal.",
		"The older header `X-Hub-Signature` (SHA-1) is ignored.",
		"The check of the URL is refused while no `verify_token` is set.",
		"Unconfirmed: bodies of up to 3 MB.",
	}
}

const metaVerifyToken = "hub.verify_token"

// metaProvider makes what all products of Meta share.
func metaProvider(o Options) *Provider {
	s := &scheme{
		headers:  []headerNames{{signature: "X-Hub-Signature-256"}},
		prefix:   "sha256=",
		hash:     sha256.New,
		encoding: hexDigits,
		template: template{inBody},
		secret:   keySpelling{encoding: rawBytes},
	}
	return &Provider{
		Verify: s.verify,
		Events: metaEvents().events,
		Handshake: func(_ context.Context, r *Request, _ []secret.Value, _ time.Time) (*Answer, error) {
			return metaHandshake(r, o.VerifyToken)
		},
		Methods:     []string{http.MethodGet, http.MethodPost},
		CheckSecret: s.checkSecret,
		Sign:        s.sign,
		SecretQuery: []string{metaVerifyToken},
		ReplayToken: s.replayToken,
		MaxBody:     3 << 20,
	}
}

// metaHandshake echoes the challenge of a GET that knows the verify token.
func metaHandshake(r *Request, token secret.Value) (*Answer, error) {
	if r.Method != http.MethodGet || r.URL == nil {
		return nil, nil
	}
	query := r.URL.Query()
	given, challenge := query[metaVerifyToken], query["hub.challenge"]
	switch {
	case query.Get("hub.mode") != "subscribe" || len(challenge) != 1:
		return nil, &VerifyError{Reason: ReasonMissingSignature, Detail: "a GET that is no check of the URL"}
	case len(given) != 1:
		return nil, &VerifyError{Reason: ReasonMissingToken, Detail: metaVerifyToken}
	case token.IsZero():
		return nil, &VerifyError{Reason: ReasonWrongToken, Detail: "the source has no verify_token"}
	case subtle.ConstantTimeCompare([]byte(given[0]), []byte(token.Reveal())) != 1:
		return nil, &VerifyError{Reason: ReasonWrongToken, Detail: metaVerifyToken}
	}
	return &Answer{Status: http.StatusOK, ContentType: "text/plain; charset=utf-8", Body: []byte(challenge[0])}, nil
}
