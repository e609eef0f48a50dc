package destination

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Defaults of HTTPOptions.
const (
	DefaultHTTPTimeout        = 10 * time.Second
	DefaultIdempotencyHeader  = "Idempotency-Key"
	DefaultReplayedHeader     = "Idempotent-Replayed"
	DefaultMaxResponse        = 64 << 10
	DefaultMaxResponseHeaders = 64 << 10
	DefaultUserAgent          = "hooklatch"
)

// HTTPOptions say where effects of kind "http" go and how. At most one of
// Bearer, BasicUser and an Authorization among SecretHeaders is given.
type HTTPOptions struct {
	// Name is the destination's name in the configuration. Required.
	Name string
	// URL is where requests go that bring no URL of their own: http or https,
	// without user and password. It is kept in the ledger: what it contains is
	// not treated as a secret. Required.
	URL string
	// Method is for requests that bring none: POST (the default), PUT, PATCH,
	// DELETE or GET.
	Method string
	// Headers are sent with every request and kept in the ledger: no secrets.
	// A request's own header of the same name wins.
	Headers map[string]string
	// SecretHeaders are added at each attempt and kept nowhere, such as an
	// X-Api-Key. Like the other credentials they go to scheme, host and port
	// of URL only, never to a URL computed from event data elsewhere.
	SecretHeaders map[string]secret.Value
	// Bearer is sent as "Authorization: Bearer ...".
	Bearer secret.Value
	// BasicUser and BasicPassword are sent as "Authorization: Basic ...".
	BasicUser     string
	BasicPassword secret.Value
	// SignStandardWebhooks signs every attempt after Standard Webhooks, once
	// with each secret: with HMAC (v1) for "whsec_" and Base64 of 24 to 64 bytes,
	// or "raw:" and the bytes themselves; with Ed25519 (v1a) for "whsk_" and Base64
	// of a private key. The webhook-id is the idempotency key and the same for
	// all attempts.
	SignStandardWebhooks []secret.Value
	// SignOrigins are further origins, "https://other.example.com", that may be
	// sent a signature. A signed destination sends nothing to any but these and
	// that of URL: an effect with another URL waits for a person.
	SignOrigins []string
	// IdempotencyHeader carries the effect's key. Default: Idempotency-Key.
	IdempotencyHeader string
	// ReplayedHeader is the header by which the receiver marks an answer it had
	// stored for the key: "true" together with a 5xx, or with a status of
	// RetryOn, makes Outcome.StoredError. Default: Idempotent-Replayed.
	ReplayedHeader string
	// RetryOn are the statuses that mean that the receiver did not apply the
	// effect and may yet take it. Nil: DefaultRetryOn of the effect's policy.
	// Empty: none. Effects that are at_most_once are tried again
	// after statuses of both this list and that default only.
	RetryOn []int
	// Timeout bounds one attempt, from looking up the host to the last byte of
	// the answer. Default: 10 s.
	Timeout time.Duration
	// AllowPrivate are the prefixes of non-global addresses the destination
	// may reach, besides the literal address or localhost that URL names.
	AllowPrivate []netip.Prefix
	// PropagateTrace sends traceparent and tracestate (W3C Trace Context).
	PropagateTrace bool
	// MaxResponse is how many bytes of an answer's body are read; of a longer
	// one the rest is cut off. Default: 64 KiB.
	MaxResponse int
	// MaxResponseHeaders is how many bytes of headers an answer may have; one
	// with more is no answer. Default: 64 KiB.
	MaxResponseHeaders int
	// UserAgent is for requests that bring none. Default: hooklatch.
	UserAgent string
	// TracerProvider makes a client span for each attempt; nil: none.
	TracerProvider trace.TracerProvider
	// RootCAs are the authorities the receiver's certificate is checked
	// against; nil: the system's.
	RootCAs *x509.CertPool
	// Resolver looks up hosts; nil: the system's. What it answers is guarded.
	Resolver *net.Resolver
}

// methods are those an effect may use. The others change nothing, or are not
// requests to a resource.
var methods = [...]string{
	http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodGet,
}

func (o HTTPOptions) withDefaults() HTTPOptions {
	o.Method = cmp.Or(o.Method, http.MethodPost)
	o.IdempotencyHeader = http.CanonicalHeaderKey(cmp.Or(o.IdempotencyHeader, DefaultIdempotencyHeader))
	o.ReplayedHeader = http.CanonicalHeaderKey(cmp.Or(o.ReplayedHeader, DefaultReplayedHeader))
	o.Timeout = cmp.Or(o.Timeout, DefaultHTTPTimeout)
	o.MaxResponse = cmp.Or(o.MaxResponse, DefaultMaxResponse)
	o.MaxResponseHeaders = cmp.Or(o.MaxResponseHeaders, DefaultMaxResponseHeaders)
	o.UserAgent = cmp.Or(o.UserAgent, DefaultUserAgent)
	return o
}

func (o HTTPOptions) validate() error {
	switch {
	case o.Name == "":
		return errors.New("name is empty")
	case o.Timeout < 0:
		return fmt.Errorf("timeout must be more than 0, got %s", o.Timeout)
	case o.MaxResponse < 0:
		return fmt.Errorf("max response must be more than 0, got %d", o.MaxResponse)
	case o.MaxResponseHeaders < 0:
		return fmt.Errorf("max response headers must be more than 0, got %d", o.MaxResponseHeaders)
	case !slices.Contains(methods[:], o.Method):
		return fmt.Errorf("method must be one of %s, got %q", strings.Join(methods[:], ", "), o.Method)
	case !isToken(o.IdempotencyHeader) || reservedHeader(o.IdempotencyHeader) || isWebhookHeader(o.IdempotencyHeader):
		return fmt.Errorf("idempotency header %q cannot be used", o.IdempotencyHeader)
	case slices.ContainsFunc(o.RetryOn, func(status int) bool { return !MayRetryOn(outbox.AtLeastOnce, status) }):
		return fmt.Errorf("retry on %v: allowed are %s", o.RetryOn, AllowedRetryOn(outbox.AtLeastOnce))
	case !isToken(o.ReplayedHeader):
		return fmt.Errorf("replayed header %q is not the name of a header", o.ReplayedHeader)
	}
	if err := checkHeaderValue("user agent", o.UserAgent); err != nil {
		return err
	}
	return o.validateCredentials()
}

func (o HTTPOptions) validateCredentials() error {
	given := 0
	for _, yes := range []bool{!o.Bearer.IsZero(), o.BasicUser != "" || !o.BasicPassword.IsZero()} {
		if yes {
			given++
		}
	}
	for name, value := range o.SecretHeaders {
		canonical := http.CanonicalHeaderKey(name)
		if canonical == "Authorization" {
			given++
		} else if !isToken(name) || reservedHeader(canonical) || isWebhookHeader(canonical) || canonical == o.IdempotencyHeader {
			return fmt.Errorf("secret header %q cannot be set", name)
		}
		if checkHeaderValue(name, value.Reveal()) != nil {
			return fmt.Errorf("secret header %q has a character headers cannot have", name) // never with the value
		}
	}
	if given > 1 {
		return errors.New("at most one of bearer, basic user and a secret Authorization header can be given")
	}
	if strings.Contains(o.BasicUser, ":") {
		return fmt.Errorf("basic user %q contains a colon", o.BasicUser)
	}
	if checkHeaderValue("bearer", o.Bearer.Reveal()) != nil {
		return errors.New("bearer has a character headers cannot have")
	}
	return nil
}

// parseTarget reads a URL a request may go to.
func parseTarget(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("url is not valid") // The error of net/url quotes all of it.
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("url has scheme %q, only http and https are allowed", u.Scheme)
	case u.User != nil:
		return nil, errors.New("url contains a user or password")
	case u.Hostname() == "":
		return nil, errors.New("url names no host")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, fmt.Errorf("url has port %s, only 1 to 65535 exist", port)
		}
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// portOf is the port of a URL, also when it is that of the scheme.
func portOf(u *url.URL) string {
	if u.Scheme == "https" {
		return cmp.Or(u.Port(), "443")
	}
	return cmp.Or(u.Port(), "80")
}
