// Package provider declares the type Provider: how a sender signs, which options a source may
// set, what an event is, and why a request is refused. Package catalog builds the providers.
package provider

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Provider declares one kind of sender. catalog.New builds a value for each source; it is safe
// for concurrent use.
type Provider struct {
	// Name is the slug in the configuration: stripe, github, ...
	Name string
	// Title is the sender's own name, for display.
	Title string
	// About describes the sender to operators.
	About About

	// Verify authenticates the sender from the raw bytes of the request. If the secrets are shared
	// with the sender, Verify compares each secret with every signature and does not return early.
	// Errors: *VerifyError for a request that is not authentic (401). Any other error is our own
	// fault (an unusable secret, or a key that cannot be fetched within ctx): the sender must be
	// asked to retry (503).
	Verify func(ctx context.Context, r *Request, secrets []secret.Value, now time.Time) (Verified, error)

	// Challenge is the authentication scheme in a 401's WWW-Authenticate header. It is Basic or
	// Bearer if the sender uses one of them, because some senders send credentials only after a
	// challenge. It is Token if the sender sends the secret in another way. The challenge does not
	// depend on the reason for the refusal. The catalog and the gateway fill in Signature if a
	// declaration sets none.
	Challenge string

	// Events extracts the events from a verified request, in order. A delivery without events
	// gets a response and is not stored. Errors: *EventError.
	Events func(r *Request) ([]Event, error)

	// Content returns the body to store, and its content type, for a delivery without a body. Such
	// a delivery, for example a GET, has its event in the URL. It returns a nil body for any other
	// request. May be nil.
	Content func(r *Request) (contentType string, body []byte)

	// Handshake answers the sender's own endpoint checks, signed or not. It returns nil if r is an
	// ordinary delivery. The gateway calls Handshake before Verify, so Handshake itself must verify
	// the signature of a signed check. Errors: the same as from Verify and Events. May be nil.
	Handshake func(ctx context.Context, r *Request, secrets []secret.Value, now time.Time) (*Answer, error)

	// Methods lists the methods that the endpoint accepts: POST, and every other method that a
	// delivery or a handshake uses. The catalog fills in POST if a declaration sets none.
	Methods []string

	// Answer replaces the gateway's JSON 200 for an accepted delivery if the sender requires
	// another response, which may depend on the request. Nil for most senders.
	Answer func(r *Request) *Answer

	// Bare is true if the sender accepts no body in any response, so that refusals have no body
	// either.
	Bare bool

	// CheckSecret returns an error if a secret cannot be used: empty, not in the required
	// encoding, or short enough to be guessed. The error never quotes the secret.
	CheckSecret func(s secret.Value) error

	// SecretAs converts a secret from another encoding (raw, base64 or hex) to the encoding of the
	// source's other secrets. Nil: the sender uses only one encoding. Its error never quotes the
	// secret.
	SecretAs func(s secret.Value, encoding string) (secret.Value, error)

	// Sign turns r into a delivery from this sender. The body may be anything, unless it must
	// contain the signature. Sign sets the headers, body fields or query parameters that carry the
	// signature, and replaces existing ones. The send command and the tests use it.
	Sign func(r *Request, key secret.Value, now time.Time) error

	// Sample builds the body and the headers of an event from this sender, unsigned and without a
	// URL, for the send command and the demo. An empty eventType means a common type, and an empty
	// id means a new id. Sample puts id where the provider's rule reads it, so that the event's key
	// depends on it.
	Sample func(eventType, id string, now time.Time) *Request

	// Keyless is true if requests are verified without a secret: with keys that the sender
	// publishes. Such a source needs no secret.
	Keyless bool

	// SecretHeaders lists headers that carry the secret itself, or a signature that also fits
	// other bodies. They are never stored or logged, and neither are Authorization and Cookie.
	SecretHeaders []string
	// SecretQuery lists URL parameters that carry the secret itself. If the list is not empty,
	// no query is stored or logged, nor any header that repeats one of these parameters.
	SecretQuery []string
	// NormalSecret converts the value of a header in SecretHeaders, or of a parameter in
	// SecretQuery, to the spelling that Sign writes. It returns a value unchanged if Verify does
	// not accept the value's spelling. Nil: Verify accepts only one spelling.
	NormalSecret func(value string) string
	// IsSignature reports whether a header that otherwise carries credentials, such as
	// Authorization, carries a signature of one request. The quarantine keeps such a signature,
	// because it is no secret. Nil: no such header carries one.
	IsSignature func(name, value string) bool

	// SignsURL is true if the signature covers the called URL. The source must be configured
	// with that URL, because anyone can choose a request's Host.
	SignsURL bool

	// HeaderFamilies lists the headers with which the sender signs and describes deliveries,
	// in canonical form and without the content type; "*" matches any run of characters.
	// Senders without such headers put everything into the body or the URL. If a proxy may set
	// headers with the same prefix, the sender's headers are listed individually. The catalog
	// adds the headers in the source's options.
	HeaderFamilies []string

	// UnsignedID is true if ids, or some of them, are in an unsigned header. Anyone who saw one
	// request can send it again under a new id until its signed time expires, or forever if it has
	// none. The replay guard protects against this. A provider that signs the time and allows only
	// a short tolerance may leave UnsignedID false.
	UnsignedID bool
	// UnsignedBody is true if the signed text does not cover the body. Anyone who saw one request
	// can send another event with its signature. By default, the replay guard of such a source
	// refuses replays.
	UnsignedBody bool
	// ReplayToken returns the value that the replay guard stores for a verified request. The token
	// is the same for the same signed content, however the headers are spelled. Empty or nil:
	// nothing is stored.
	ReplayToken func(r *Request) string

	// TestEvent reports whether a verified request describes an event that did not really
	// happen, such as the sender's test or an event in its test mode. Nil if the sender does
	// not mark tests.
	TestEvent func(r *Request) bool

	// List describes the sender's API that lists its events. Nil: no such API is known.
	List *List

	// Retry reads the sender's information about its attempts. Nil if the sender gives none.
	// Most senders do not sign this information, so no decision may depend on it.
	Retry func(r *Request) RetryInfo

	// OtherBodies names the sender's body formats besides JSON and forms, such as "XML".
	// Empty: none, or the formats named by an option.
	OtherBodies string

	// MaxBody is the size of the largest body that the sender is known to send, in bytes. It raises
	// the gateway's own limit for the source, but not a limit that the source itself sets. 0:
	// unknown.
	MaxBody int64
	// MaxForm is the size of the largest form that the sender is known to send, in bytes, if it
	// exceeds MaxBody. The sender limits the content of a form, and escaping makes the content up
	// to three times as long. 0: the same as MaxBody.
	MaxForm int64
	// Deadline is how long the sender waits for the response; 0: not documented.
	Deadline time.Duration
	// RetryWindow is how long the sender retries a delivery automatically. ResendWindow is how long
	// an operator can make the sender resend it. Zero: the sender does not retry or resend.
	RetryWindow, ResendWindow time.Duration
	// OldSecretRetries is true if retries are signed with the secret that was valid when the event
	// happened. The gateway then accepts a replaced secret until RetryWindow has passed after
	// gateway.Secret.NotAfter.
	OldSecretRetries bool
}

// minFloor is the smallest value of Floor.
const minFloor = time.Hour

// SignatureChallenge is the Challenge for senders that sign.
const SignatureChallenge = "Signature"

// Floor is the shortest safe retention of dedup keys. It is twice RetryWindow, or ResendWindow if
// that is longer, but at least one hour.
func (p *Provider) Floor() time.Duration {
	return max(2*p.RetryWindow, p.ResendWindow, minFloor)
}

// Request is one HTTP request in the form that a provider's rules read.
type Request struct {
	Method string
	// URL is the public URL that the sender called: scheme, host, path and query exactly as
	// sent. Some senders sign it.
	URL    *url.URL
	Header http.Header
	Body   []byte
	// Client is the unit of per-client limits: the sender's address or network. It is invalid if
	// the address is unknown.
	Client netip.Prefix
	// Known is true if an earlier delivery from Client was accepted.
	Known bool
	// Trial is true if the caller needs only the outcome. The rules then change nothing outside
	// Hooklatch, but may fetch keys.
	Trial bool
}

// UnknownType is the type of an event without a readable type.
const UnknownType = "unknown"

// Event is one event in a delivery.
type Event struct {
	ID         string // dedup key built by the provider's rule; never empty
	Type       string // never empty; UnknownType if the sender gives none
	APIVersion string
	OccurredAt time.Time // zero if unknown
	Item       string    // JSON pointer (RFC 6901) into the body; empty for the complete body
	// Part is the text of Item as it appears in the body. Nil for the complete body.
	Part []byte
	// TypeInHeader is true if a header, which is not part of the content, names the type.
	TypeInHeader bool
}

// Verified holds the matching secret's index and the time at which the sender signed (zero if
// the scheme signs no time).
type Verified struct {
	SecretIndex int
	SignedAt    time.Time
}

// Answer is a complete HTTP response.
type Answer struct {
	Status      int
	ContentType string
	Header      http.Header // additional headers, nil for none
	Body        []byte
}

// Reason is the cause of a refusal. It is logged and counted, but never sent to the sender. The
// values are a fixed set, so a metric can use them as a label.
type Reason string

// Reasons to refuse a request as not authentic (401).
const (
	ReasonMissingSignature   Reason = "missing_signature"
	ReasonMalformedSignature Reason = "malformed_signature"
	ReasonWrongSignature     Reason = "wrong_signature"
	ReasonMissingTimestamp   Reason = "missing_timestamp"
	ReasonMalformedTimestamp Reason = "malformed_timestamp"
	ReasonOldTimestamp       Reason = "old_timestamp"
	ReasonFutureTimestamp    Reason = "future_timestamp"
	ReasonMissingID          Reason = "missing_id" // for a scheme that signs the id
	ReasonMalformedID        Reason = "malformed_id"
	ReasonDuplicateHeader    Reason = "duplicate_header"

	ReasonMissingToken       Reason = "missing_token" // a static token, a password or a JSON Web Token
	ReasonMalformedToken     Reason = "malformed_token"
	ReasonWrongToken         Reason = "wrong_token"
	ReasonForbiddenAlgorithm Reason = "forbidden_algorithm" // alg: none, or an algorithm that the source does not accept
	ReasonUnknownKey         Reason = "unknown_key"         // signed by a key that is not among the sender's known keys
	ReasonWrongIssuer        Reason = "wrong_issuer"
	ReasonWrongAudience      Reason = "wrong_audience"
	ReasonExpired            Reason = "expired"
	ReasonNotYetValid        Reason = "not_yet_valid"
	ReasonWrongClaim         Reason = "wrong_claim"
	ReasonWrongBodyHash      Reason = "wrong_body_hash"
	ReasonForeignURL         Reason = "foreign_url" // a certificate's or a confirmation's URL
	ReasonWrongCertificate   Reason = "wrong_certificate"
	ReasonTooManyItems       Reason = "too_many_items" // too many to read before the request is verified
)

// VerifyError is returned if a request is not verified as coming from the sender.
type VerifyError struct {
	Reason Reason
	Detail string // for the log; contains no secret and no signature
}

// Error implements error.
func (e *VerifyError) Error() string {
	if e.Detail == "" {
		return string(e.Reason)
	}
	return string(e.Reason) + ": " + e.Detail
}

// EventError explains why a request contains no usable event. Its text is shown to the sender.
type EventError struct {
	// Unreadable is true if the body does not have the sender's format (400). If false, the body is
	// readable but contains no usable event (422).
	Unreadable bool
	Message    string
}

// Error implements error.
func (e *EventError) Error() string { return e.Message }
