// Package provider declares the type of a provider: how it signs, which options a
// source may set, what an event is, and why a request is refused. Package catalog
// builds the providers.
package provider

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Provider declares one kind of sender. Values are made by catalog.New, one for each
// source, and are safe for concurrent use.
type Provider struct {
	// Name is the slug in the configuration: stripe, github, ...
	Name string
	// Title is the sender's own name, for display.
	Title string
	// About is what an operator must know to use it.
	About About

	// Verify proves who sent the request, over the raw bytes. It tries every secret and
	// every signature without leaving early. Errors: *VerifyError for a request that is
	// not proven (401). Any other error is a fault of ours (a secret that cannot be
	// used, a key that cannot be fetched within ctx): the sender must be asked to retry
	// (503).
	Verify func(ctx context.Context, r *Request, secrets []secret.Value, now time.Time) (Verified, error)

	// Challenge is the authentication scheme of a 401's WWW-Authenticate: Basic and
	// Bearer if the sender uses them, since some senders wait for it. It is the same
	// for every reason. The catalog and the gateway fill in Signature if a declaration
	// names none.
	Challenge string

	// Events finds the events of a verified request, in order. A delivery without
	// events is answered and not stored. Errors: *EventError.
	Events func(r *Request) ([]Event, error)

	// Content is the body to store, and its type, for a delivery without one: a GET,
	// whose event is in its URL. It returns nil for any other. It may be nil.
	Content func(r *Request) (contentType string, body []byte)

	// Handshake answers the sender's own checks of the endpoint, signed or
	// not. It returns nil when r is an ordinary delivery. It may be nil. It is
	// called before Verify; a signed handshake verifies by itself. Errors: as
	// those of Verify and Events.
	Handshake func(ctx context.Context, r *Request, secrets []secret.Value, now time.Time) (*Answer, error)

	// Methods that the endpoint accepts: POST, and GET if a handshake needs it. The
	// catalog fills in POST if a declaration names none.
	Methods []string

	// Answer replaces the gateway's JSON 200 to an accepted delivery if the sender
	// requires another answer, which may depend on the request. Nil for most.
	Answer func(r *Request) *Answer

	// Bare: the sender accepts no body in any answer, so that refusals have none
	// either.
	Bare bool

	// CheckSecret reports whether a secret can be used at all (empty, not the
	// encoding it must have, short enough to be guessed). Its error never
	// quotes the secret.
	CheckSecret func(s secret.Value) error

	// SecretAs spells a secret, which is written in an encoding of its own (raw, base64
	// or hex), as all other secrets of the source are. Nil: the sender has one spelling.
	// Its error never quotes the secret.
	SecretAs func(s secret.Value, encoding string) (secret.Value, error)

	// Sign makes r, with any body, a delivery of this sender: it sets the headers (or
	// the fields of the body, or of the query of r.URL) that carry the signature,
	// replacing existing ones. The send command and the tests use it.
	Sign func(r *Request, key secret.Value, now time.Time) error

	// Sample makes the body and the headers of an event of this sender, for the send
	// command and the demo, unsigned and without URL. eventType "" is a usual one, id
	// "" a new one. id is put where the provider's rule finds it, so that the event's
	// key depends on it.
	Sample func(eventType, id string, now time.Time) *Request

	// Keyless providers prove who sent a request without a secret of the
	// source: by keys the sender publishes. A source of theirs may have none.
	Keyless bool

	// SecretHeaders are headers that carry the secret itself, or a signature that
	// vouches for more than the body beside it; they are never stored or logged.
	// Neither are Authorization and Cookie.
	SecretHeaders []string
	// SecretQuery are parameters of the URL that carry the secret itself. No
	// query is stored or logged, nor any header that repeats one of these.
	SecretQuery []string

	// SignsURL: the called URL is (part of) the proof. The source must be configured
	// with that URL: anyone can choose the Host of a request.
	SignsURL bool

	// HeaderFamilies are the headers with which the sender signs and describes
	// deliveries, beside the content type, in canonical form; "*" matches any run of
	// characters. A sender without any puts everything into the body or the URL.
	// Headers that others on the way may set under the same prefix are named one by
	// one. The catalog adds those that the options of a source name.
	HeaderFamilies []string

	// UnsignedID: (some) ids are in an unsigned header. Anyone who saw one request can
	// send it again under a new id, for as long as its signed time lets them, or
	// forever. The replay guard is for these.
	UnsignedID bool
	// UnsignedBody: the signed text does not bind the body. Anyone who saw one request
	// can put another event under its signature. The replay guard of such a source
	// refuses by default.
	UnsignedBody bool
	// ReplayToken returns what the replay guard remembers of a proven request: the same
	// for the same signed content, however the headers are spelled. Empty or nil:
	// nothing is remembered.
	ReplayToken func(r *Request) string

	// TestEvent reports whether a proven request describes an event that did not
	// happen: a test of the sender, or of its own account. Nil if the sender does not
	// mark tests.
	TestEvent func(r *Request) bool

	// List describes the sender's API that lists its events. Nil: none is known.
	List *List

	// Retry reads the sender's information about its attempts. Nil if it gives none.
	// Most senders do not sign it: for metrics and the log only.
	Retry func(r *Request) RetryInfo

	// OtherBodies names the formats of this sender's bodies besides JSON and forms,
	// such as "XML". Empty: none, or those that an option names.
	OtherBodies string

	// MaxBody is the largest body the sender is known to send, in bytes; 0
	// leaves the gateway's own cap.
	MaxBody int64
	// MaxForm is the largest form that the sender is known to send if that exceeds
	// MaxBody: the sender limits the content, which grows up to three times as long
	// when it is escaped. 0: MaxBody.
	MaxForm int64
	// Deadline is how long the sender waits for the answer; 0 when it does not
	// say.
	Deadline time.Duration
	// RetryWindow is for how long it retries by itself; ResendWindow for how long an
	// operator can make it resend. Zero: not at all.
	RetryWindow, ResendWindow time.Duration
	// OldSecretRetries: retries are signed with the secret that was valid when the
	// event happened. A replaced secret stays accepted for RetryWindow.
	OldSecretRetries bool
}

// minFloor is the shortest time for which a key is remembered.
const minFloor = time.Hour

// SignatureChallenge is the Challenge of senders that sign.
const SignatureChallenge = "Signature"

// Floor is the shortest retention of dedup keys that is safe: twice the time in which
// the sender retries by itself, or the whole time in which an operator can make it
// resend, whichever is longer, and at least one hour.
func (p *Provider) Floor() time.Duration {
	return max(2*p.RetryWindow, p.ResendWindow, minFloor)
}

// Request is one HTTP request as a provider's rules see it.
type Request struct {
	Method string
	// URL is the public URL the sender called: scheme, host, path and query
	// exactly as sent. URL-signing senders sign it.
	URL    *url.URL
	Header http.Header
	Body   []byte
	// Client is the unit of per-client limits: the address of the sender, or its
	// network. Not valid if unknown.
	Client netip.Prefix
	// Known is true when a delivery from Client was accepted before.
	Known bool
}

// UnknownType is the type of an event whose sender names none that can be read.
const UnknownType = "unknown"

// Event is one event of a delivery.
type Event struct {
	ID         string // dedup key by the provider's rule; never empty
	Type       string // never empty; UnknownType where the sender names none
	APIVersion string
	OccurredAt time.Time // zero when the sender does not say
	Item       string    // JSON pointer (RFC 6901) inside the body; empty for the whole body
	// Part is the text of Item as it appears in the body. Nil for the whole body.
	Part []byte
}

// Verified says which secret matched, by its index, and when the sender
// signed (zero when the scheme signs no time).
type Verified struct {
	SecretIndex int
	SignedAt    time.Time
}

// Answer is a complete HTTP answer.
type Answer struct {
	Status      int
	ContentType string
	Header      http.Header // further headers, nil for none
	Body        []byte
}

// Reason is why a request was refused. It is logged and counted, but never sent to the
// sender: the values are a fixed set, safe as a metric label.
type Reason string

// The reasons to refuse a request as not proven (401).
const (
	ReasonMissingSignature   Reason = "missing_signature"
	ReasonMalformedSignature Reason = "malformed_signature"
	ReasonWrongSignature     Reason = "wrong_signature"
	ReasonMissingTimestamp   Reason = "missing_timestamp"
	ReasonMalformedTimestamp Reason = "malformed_timestamp"
	ReasonOldTimestamp       Reason = "old_timestamp"
	ReasonFutureTimestamp    Reason = "future_timestamp"
	ReasonMissingID          Reason = "missing_id" // of a scheme that signs the id
	ReasonMalformedID        Reason = "malformed_id"
	ReasonDuplicateHeader    Reason = "duplicate_header"

	ReasonMissingToken       Reason = "missing_token" // a static token, a password or a JSON Web Token
	ReasonMalformedToken     Reason = "malformed_token"
	ReasonWrongToken         Reason = "wrong_token"
	ReasonForbiddenAlgorithm Reason = "forbidden_algorithm" // alg: none, or one the source does not take
	ReasonUnknownKey         Reason = "unknown_key"         // signed by a key that is not the sender's
	ReasonWrongIssuer        Reason = "wrong_issuer"
	ReasonWrongAudience      Reason = "wrong_audience"
	ReasonExpired            Reason = "expired"
	ReasonNotYetValid        Reason = "not_yet_valid"
	ReasonWrongClaim         Reason = "wrong_claim"
	ReasonWrongBodyHash      Reason = "wrong_body_hash"
	ReasonForeignURL         Reason = "foreign_url" // of a certificate or a confirmation
	ReasonWrongCertificate   Reason = "wrong_certificate"
	ReasonTooManyItems       Reason = "too_many_items" // to look for the proof among them
)

// VerifyError is returned when a request is not proven to come from the sender.
type VerifyError struct {
	Reason Reason
	Detail string // for the log; names no secret and no signature
}

// Error implements error.
func (e *VerifyError) Error() string {
	if e.Detail == "" {
		return string(e.Reason)
	}
	return string(e.Reason) + ": " + e.Detail
}

// EventError says why no event could be made of a proven request. Its text is
// shown to the sender.
type EventError struct {
	// Unreadable: the body does not have the sender's format (400). Otherwise the body
	// can be read but has no usable id (422).
	Unreadable bool
	Message    string
}

// Error implements error.
func (e *EventError) Error() string { return e.Message }
