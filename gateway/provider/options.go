package provider

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Options are a source's settings for its provider. Every provider accepts only the options
// that apply to it; catalog.New refuses the others.
type Options struct {
	// Tolerance is the maximum difference between the signed time and the gateway's clock, in both
	// directions. 0 is the provider's default, usually 300 s. A negative value, off in the
	// configuration, means no limit. Only for schemes that sign a time. For jwt, Tolerance is the
	// allowed difference between the clocks, with the default 60 s, and off is refused.
	Tolerance time.Duration `yaml:"tolerance,omitempty"`

	// SecretEncoding is the encoding of the key in the configured secret: raw, base64 or hex. Only
	// for providers standard-webhooks and openai (base64 or raw; default base64), and hmac (default
	// raw).
	SecretEncoding string `yaml:"secret_encoding,omitempty"`

	// Audience is the audience that the token must have. Required for provider jwt with published
	// keys. Only for providers jwt and google-pubsub. Default: the endpoint's URL for
	// google-pubsub, any audience for jwt with secrets.
	Audience string `yaml:"audience,omitempty"`
	// Issuer is the issuer that the token must have. Only for provider jwt.
	Issuer string `yaml:"issuer,omitempty"`
	// JWKSURL is the URL at which the issuer publishes its keys (RFC 7517): https, on a public
	// address. The keys are fetched when they are needed, and kept for an hour. Only for provider
	// jwt, instead of secrets.
	JWKSURL string `yaml:"jwks_url,omitempty"`
	// JWKSFile is a file with the issuer's keys, read at startup. Only for provider jwt, instead of
	// secrets.
	JWKSFile string `yaml:"jwks_file,omitempty"`
	// Algorithms are the signature algorithms that the token may use, such as RS256, ES256 or
	// EdDSA. Only for provider jwt. Default: HS256 with secrets, otherwise RS256 and ES256.
	Algorithms []string `yaml:"algorithms,omitempty"`
	// Claims that the token must have, with their values. Only for providers jwt and google-pubsub,
	// which requires email.
	Claims map[string]string `yaml:"claims,omitempty"`
	// BodyHashClaim is the name of the claim that contains the body's SHA-256 in hex. Without this
	// option the token does not protect the body. Only for provider jwt.
	BodyHashClaim string `yaml:"body_hash_claim,omitempty"`
	// MaxAge is the maximum age of a token since it was issued (its claim iat). Only for provider
	// jwt. Default: until the token expires (its claim exp).
	MaxAge time.Duration `yaml:"max_age,omitempty"`
	// Query is the URL parameter that carries the token. Only for provider token, instead of
	// Header.
	Query string `yaml:"query,omitempty"`

	// AppIDs are the ids of your applications for which Graph issues validation tokens. With
	// AppIDs, a delivery's tokens are verified, and a delivery with resource data must have tokens.
	// Only for provider microsoft-graph.
	AppIDs []string `yaml:"app_ids,omitempty"`
	// Tenants are the ids of the tenants from which validation tokens are accepted. Default: any
	// tenant. Only for provider microsoft-graph, with AppIDs.
	Tenants []string `yaml:"tenants,omitempty"`

	// VerifyToken is the token that the sender sends when it checks the endpoint, as you entered it
	// at the sender. Only for providers whatsapp and meta.
	VerifyToken secret.Value `yaml:"verify_token,omitempty"`

	// The options from Header to Probe describe a custom scheme of provider hmac. Providers token
	// and jwt also accept Header and Prefix, and auth0 and okta accept Header. Providers token,
	// basic and jwt also accept Each and the options that follow it, up to Probe.

	// Header is the name of the header that carries the signature or the token. Required for hmac.
	// Default: Authorization for auth0 and okta, and with the prefix "Bearer " for token and jwt.
	// For hmac, a name that ends in -{n}, such as X-Sig-{n}, stands for several headers, numbered
	// from 1.
	Header string `yaml:"header,omitempty"`
	// Algorithm of the HMAC: sha1, sha256 or sha512. Default sha256.
	Algorithm string `yaml:"algorithm,omitempty"`
	// Encoding of the signature: hex, base64 or base64url. Default hex.
	Encoding string `yaml:"encoding,omitempty"`
	// Prefix is the text before the signature, such as "sha256=". Default none.
	Prefix string `yaml:"prefix,omitempty"`
	// Template is the signed text, with the placeholders {ts}, {id}, {body}, {url} and
	// {method}; {body} is required. Default "{body}".
	Template string `yaml:"template,omitempty"`

	// TimestampHeader is the name of the header that carries {ts}.
	TimestampHeader string `yaml:"timestamp_header,omitempty"`
	// TimestampUnit is the unit of {ts}: s, ms or rfc3339. Default s.
	TimestampUnit string `yaml:"timestamp_unit,omitempty"`
	// IDHeader is the name of the header that carries {id}, which is then the default
	// of EventID.
	IDHeader string `yaml:"id_header,omitempty"`

	// SignatureField is the key of the pairs that carry a signature, in a header that
	// is a list of k=v pairs. Several pairs may have this key.
	SignatureField string `yaml:"signature_field,omitempty"`
	// TimestampField is the key of the pair that carries {ts}.
	TimestampField string `yaml:"timestamp_field,omitempty"`
	// Separator is the text between the pairs. Default ",".
	Separator string `yaml:"separator,omitempty"`

	// Each is the location of the list of events, if a delivery carries several: a JSON pointer, or
	// "body" if the body is the list. The pointers of EventID, Type and OccurredAt then start at
	// one item of the list.
	Each string `yaml:"each,omitempty"`
	// EventID is the location of the event's id: deliveries with the same id are the same
	// event. Required for a custom scheme, unless IDHeader or dedup.ignore is set. For every other
	// provider, EventID replaces the documented key.
	EventID EventID `yaml:"event_id,omitempty"`
	// Ignore lists JSON pointers to values that change between attempts of an event. The id is a
	// hash of the rest of the body, and of the type if a header names it. Ignore cannot be combined
	// with EventID. In the configuration, Ignore is part of dedup.
	Ignore []string `yaml:"-"`
	// Type is the location of the event's type. Default: /type of a JSON body if present,
	// otherwise "unknown". Also for standard-webhooks, svix and google-pubsub. The default of
	// google-pubsub is /message/attributes/eventType if present, otherwise "message".
	Type Field `yaml:"type,omitempty"`
	// OccurredAt is the location of the event's time. Default: none, so the time of receipt is
	// used. Also for standard-webhooks and svix, with the default /timestamp.
	OccurredAt Clock `yaml:"occurred_at,omitempty"`

	// Answer is the response to a verified delivery, for a sender that accepts no
	// other response. Generic providers only. Default: 200 with a JSON body.
	Answer *AnswerOptions `yaml:"answer,omitempty"`
	// Probe are the requests with which the sender tests the endpoint before it delivers. Generic
	// providers only. Default: none.
	Probe *ProbeOptions `yaml:"probe,omitempty"`

	// Fetch sends the requests that fetch the sender's keys and certificates. Default:
	// a transport that reaches public addresses only.
	Fetch http.RoundTripper `json:"-" yaml:"-"`
	// Roots are the authorities that must have issued the sender's certificates. Default: the
	// system's authorities.
	Roots *x509.CertPool `json:"-" yaml:"-"`
	// Keys stores a sender's keys across restarts. Only provider plaid uses it. If Keys is
	// nil, every process fetches its own keys.
	Keys KeyStore `json:"-" yaml:"-"`
}

// Field is the location of one value in a delivery. Exactly one member is set.
type Field struct {
	Header  string `yaml:"header,omitempty"`  // Name of a request header.
	Pointer string `yaml:"pointer,omitempty"` // JSON pointer (RFC 6901) into the body.
	Form    string `yaml:"form,omitempty"`    // Field of a form body; for a file, the hash of its bytes.
	Fixed   string `yaml:"fixed,omitempty"`   // A fixed string; not for ids.
}

// EventID is the location of an event's id, or the parts from which the id is built. Exactly
// one member is set, besides Optional.
type EventID struct {
	Header  string `yaml:"header,omitempty"`  // Name of a request header.
	Pointer string `yaml:"pointer,omitempty"` // JSON pointer (RFC 6901) into the body.
	Form    string `yaml:"form,omitempty"`    // Field of a form body; for a file, the hash of its bytes.
	// Join is the list of locations of the values that are joined into the id: JSON pointers,
	// header:NAME and form:NAME. All values must be present.
	Join []string `yaml:"join,omitempty"`
	// Fields are the locations of the values that do not change when the event is sent again:
	// JSON pointers, header:NAME and form:NAME. The id is a hash of these values; white
	// space and the order of keys do not matter. All values must be present.
	Fields []string `yaml:"fields,omitempty"`
	// Optional is a list of locations of further values for the hash; each value may be
	// missing. Only with Fields.
	Optional []string `yaml:"optional,omitempty"`
}

// Text returns the member that is set, for messages, or "" if none is.
func (e EventID) Text() string {
	return cmp.Or(e.Header, e.Pointer, e.Form, strings.Join(slices.Concat(e.Join, e.Fields, e.Optional), " "))
}

// Clock is the location of a time.
type Clock struct {
	Pointer string `yaml:"pointer,omitempty"` // JSON pointer into the body.
	// Unit is the unit of the time: s, ms or rfc3339. Default: rfc3339 for a JSON string, ms for a
	// number from 1e11 on, otherwise s.
	Unit string `yaml:"unit,omitempty"`
}

// OptionError names the option that prevents a provider from being created.
type OptionError struct {
	Field   string // the option's path in the configuration
	Value   string // given value
	Allowed string // allowed values
}

// Error implements error.
func (e *OptionError) Error() string {
	return fmt.Sprintf("%s: %q is not allowed: %s", e.Field, e.Value, e.Allowed)
}
