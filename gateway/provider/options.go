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

// Options is what a source may set for its provider. Every provider accepts only the
// options that apply to it; New refuses the others.
type Options struct {
	// Tolerance is how far the signed time may lie from ours, in both
	// directions. 0 is the provider's default (300 s), negative is off. Only
	// for schemes that sign a time.
	Tolerance time.Duration `yaml:"tolerance,omitempty"`

	// SecretEncoding says how the configured secret spells the key: raw,
	// base64 or hex. Providers standard-webhooks (base64 or raw, default
	// base64) and hmac (default raw).
	SecretEncoding string `yaml:"secret_encoding,omitempty"`

	// Audience the token must be made for: the provider's default is the URL
	// of the endpoint, where it has one. Providers jwt (required) and those that
	// sign with JSON Web Tokens.
	Audience string `yaml:"audience,omitempty"`
	// Issuer the token must be made by. Provider jwt.
	Issuer string `yaml:"issuer,omitempty"`
	// JWKSURL is where the issuer publishes its keys (RFC 7517): https, on a
	// public address. They are fetched when they are needed, and kept for an
	// hour. Provider jwt, instead of secrets.
	JWKSURL string `yaml:"jwks_url,omitempty"`
	// JWKSFile is a file with the keys of the issuer, read at start. Provider
	// jwt, instead of secrets.
	JWKSFile string `yaml:"jwks_file,omitempty"`
	// Algorithms the token may be signed with, such as RS256, ES256 or EdDSA.
	// Provider jwt. Default: HS256 with secrets, else RS256 and ES256.
	Algorithms []string `yaml:"algorithms,omitempty"`
	// Claims the token must have, with their values. Provider jwt.
	Claims map[string]string `yaml:"claims,omitempty"`
	// BodyHashClaim names the claim that is the SHA-256 of the body, in hex.
	// Without it the token does not protect the body. Provider jwt.
	BodyHashClaim string `yaml:"body_hash_claim,omitempty"`
	// MaxAge of a token since it was issued (its claim iat). Provider jwt.
	// Default: as long as the token says (its claim exp).
	MaxAge time.Duration `yaml:"max_age,omitempty"`
	// Query is the parameter of the URL that carries the token. Provider token,
	// instead of Header.
	Query string `yaml:"query,omitempty"`

	// AppIDs are the applications of yours that Graph makes validation tokens
	// for. With them the tokens of a delivery are proven, and one with resource
	// data must have some. Provider microsoft-graph.
	AppIDs []string `yaml:"app_ids,omitempty"`
	// Tenants that validation tokens may come from. Default: any. Provider
	// microsoft-graph, with AppIDs.
	Tenants []string `yaml:"tenants,omitempty"`

	// VerifyToken is the token the sender shows when it checks the endpoint, as
	// it was entered there. Providers whatsapp and meta.
	VerifyToken secret.Value `yaml:"verify_token,omitempty"`

	// The rest describes a custom scheme: provider hmac, and for header, prefix and the
	// last three also token, basic and jwt.

	// Header carries the signature or the token. Required for hmac. Default for token
	// and jwt: Authorization, with the prefix "Bearer ". For hmac a name that ends in
	// -{n} means several headers, numbered from 1: X-Sig-{n}.
	Header string `yaml:"header,omitempty"`
	// Algorithm of the HMAC: sha1, sha256 or sha512. Default sha256.
	Algorithm string `yaml:"algorithm,omitempty"`
	// Encoding of the signature: hex, base64 or base64url. Default hex.
	Encoding string `yaml:"encoding,omitempty"`
	// Prefix precedes the signature, such as "sha256=". Default none.
	Prefix string `yaml:"prefix,omitempty"`
	// Template is the signed text, with {ts}, {id}, {body}, {url} and {method} in it;
	// {body} is required. Default "{body}".
	Template string `yaml:"template,omitempty"`

	// TimestampHeader carries {ts}.
	TimestampHeader string `yaml:"timestamp_header,omitempty"`
	// TimestampUnit of {ts}: s, ms or rfc3339. Default s.
	TimestampUnit string `yaml:"timestamp_unit,omitempty"`
	// IDHeader carries {id}, which is then the default of EventID.
	IDHeader string `yaml:"id_header,omitempty"`

	// SignatureField makes the header a list of k=v pairs, and names those
	// that carry a signature. Several may.
	SignatureField string `yaml:"signature_field,omitempty"`
	// TimestampField names the pair that carries {ts}.
	TimestampField string `yaml:"timestamp_field,omitempty"`
	// Separator is between the pairs. Default ",".
	Separator string `yaml:"separator,omitempty"`

	// Each says that a delivery carries several events: a JSON pointer to the
	// list of them, or "body" where the body is the list itself. The pointers of
	// EventID, Type and OccurredAt then start at the item.
	Each string `yaml:"each,omitempty"`
	// EventID says what makes two deliveries the same event. Required for a custom
	// scheme, unless the id is signed (IDHeader). For every other provider it replaces
	// the documented key.
	EventID EventID `yaml:"event_id,omitempty"`
	// Ignore are JSON pointers to values that change between attempts of an event. The
	// id is a hash of the rest. Instead of EventID. In the configuration it is part of
	// dedup.
	Ignore []string `yaml:"-"`
	// Type is the place of the event's type. Default: /type of a JSON body if present,
	// else "unknown". Also for standard-webhooks.
	Type Field `yaml:"type,omitempty"`
	// OccurredAt is the place of the event's time. Default: nowhere. Also for
	// standard-webhooks.
	OccurredAt Clock `yaml:"occurred_at,omitempty"`

	// Answer replaces the answer to a proven delivery, for a sender that accepts no
	// other. Generic providers only. Default: 200 with a JSON body.
	Answer *AnswerOptions `yaml:"answer,omitempty"`
	// Probe says how the sender tests the endpoint before it delivers. Generic
	// providers only. Default: it does not.
	Probe *ProbeOptions `yaml:"probe,omitempty"`

	// Fetch carries the requests by which keys and certificates of the sender
	// are fetched. Default: one that reaches public addresses only.
	Fetch http.RoundTripper `json:"-" yaml:"-"`
	// Roots are the authorities that certificates of the sender must come from.
	// Default: those of the system.
	Roots *x509.CertPool `json:"-" yaml:"-"`
	// Keys stores keys of a sender beyond a restart. Provider plaid, for which it may
	// be nil: then every process fetches its own.
	Keys KeyStore `json:"-" yaml:"-"`
}

// Field is the place of one text in a delivery. Exactly one of its members is set.
type Field struct {
	Header  string `yaml:"header,omitempty"`  // name of a request header
	Pointer string `yaml:"pointer,omitempty"` // JSON pointer (RFC 6901) into the body
	Form    string `yaml:"form,omitempty"`    // field of a form body; of a file, the hash of its bytes
	Fixed   string `yaml:"fixed,omitempty"`   // this text; not for ids
}

// EventID is the place of an event's id, or what it is made of. Exactly one of its
// members is set, besides Optional.
type EventID struct {
	Header  string `yaml:"header,omitempty"`
	Pointer string `yaml:"pointer,omitempty"`
	Form    string `yaml:"form,omitempty"`
	// Join makes the id of several texts, which must all be present: JSON pointers,
	// header:NAME and form:NAME.
	Join []string `yaml:"join,omitempty"`
	// Fields are JSON pointers, header:NAME and form:NAME of values that do not change
	// when the event is sent again. The id is a hash of these values, whatever their
	// white space and the order of their keys. All of them must be present.
	Fields []string `yaml:"fields,omitempty"`
	// Optional are further values for the hash, which may be missing. Only with Fields.
	Optional []string `yaml:"optional,omitempty"`
}

// Text is the member that is set, for messages; empty if none is.
func (e EventID) Text() string {
	return cmp.Or(e.Header, e.Pointer, e.Form, strings.Join(slices.Concat(e.Join, e.Fields, e.Optional), " "))
}

// Clock is the place of a time.
type Clock struct {
	Pointer string `yaml:"pointer,omitempty"` // JSON pointer into the body
	// Unit is s, ms or rfc3339. Default: rfc3339 for a JSON string, ms for a
	// number from 1e11 on, else s.
	Unit string `yaml:"unit,omitempty"`
}

// OptionError says which option a provider cannot be made with.
type OptionError struct {
	Field   string // path of the option as the configuration spells it
	Value   string // what was given
	Allowed string // what may be given
}

// Error implements error.
func (e *OptionError) Error() string {
	return fmt.Sprintf("%s: %q is not allowed: %s", e.Field, e.Value, e.Allowed)
}
