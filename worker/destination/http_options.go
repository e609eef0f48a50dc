package destination

import (
	"cmp"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/internal/size"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// DefaultTimeout bounds an attempt at a destination that says nothing else.
const DefaultTimeout = 15 * time.Second

const (
	maxResponseHeaders = 64 << 10
	userAgent          = "hooklatch"
)

// HTTPOptions say where effects of kind "http" go and how. At most one of
// Bearer, Basic and an Authorization among SecretHeaders is given.
type HTTPOptions struct {
	// Name is the destination's name in the configuration. Required.
	Name string `yaml:"-"`
	// Where requests go that bring no URL of their own; http or https, without
	// user and password. It is kept in the ledger: what it contains is not
	// treated as a secret. Exactly one of url and secret_url is given.
	URL string `yaml:"url,omitempty"`
	// The same of a URL that is a secret itself, as that of an incoming webhook of
	// Slack, Microsoft Teams or Discord. The ledger, and whatever shows requests, has
	// only its origin, like https://hooks.slack.com; an effect that is tried again
	// goes to the URL that is configured by then.
	SecretURL secret.Value `yaml:"secret_url,omitempty"`
	// Chat whose incoming webhook the URL is: slack, teams or discord. Routes then give
	// http.text, the message. Sets the rate that the chat allows: 1/s for slack, 2/s for
	// teams and discord. Defaults to none.
	Preset Preset `yaml:"preset,omitempty"`
	// Method of requests that bring none: POST, PUT, PATCH, DELETE or GET.
	// Defaults to POST.
	Method string `yaml:"method,omitempty"`
	// Headers are sent with every request and kept in the ledger: no secrets.
	// A request's own header of the same name wins.
	Headers map[string]string `yaml:"-"`
	// Headers of every request, such as an X-Api-Key. Their values are treated
	// as secrets: they are neither logged nor stored. Like the other credentials
	// they go to scheme, host and port of url only, never to a URL computed from
	// event data elsewhere.
	SecretHeaders map[string]secret.Value `yaml:"headers,omitempty"`
	// Token of an Authorization: Bearer header.
	Bearer secret.Value `yaml:"bearer,omitempty"`
	// User and password of an Authorization: Basic header.
	Basic *Basic `yaml:"basic,omitempty"`
	// How requests are signed. Defaults to not at all.
	Sign *Sign `yaml:"sign,omitempty"`
	// Further origins that may be sent a signature, like
	// https://other.example.com. Where requests are signed, one that leads to
	// any but these and that of url is parked. Defaults to none.
	SignOrigins []string `yaml:"sign_origins,omitempty"`
	// Header that carries the idempotency key of the effect. Defaults to
	// Idempotency-Key.
	IdempotencyHeader string `yaml:"idempotency_header,omitempty"`
	// Header by which the receiver marks an answer it had stored for the key:
	// "true" together with a 5xx, or with a status of retry_on. Defaults to
	// Idempotent-Replayed.
	ReplayedHeader string `yaml:"replayed_header,omitempty"`
	// Sends a traceparent header, so that the receiver's spans continue our trace
	// (W3C Trace Context). Defaults to false.
	PropagateTrace bool `yaml:"propagate_trace,omitempty"`
	// How much of an answer is read; the rest is not. Defaults to 64KiB.
	MaxResponse size.Bytes `yaml:"max_response,omitempty"`

	// RetryOn are the statuses that mean that the receiver did not apply the
	// effect and may yet take it. Nil: DefaultRetryOn of the effect's policy.
	// Empty: none. Effects that are at_most_once are tried again
	// after statuses of both this list and that default only.
	RetryOn []int `yaml:"-"`
	// Timeout bounds one attempt, from looking up the host to the last byte of
	// the answer. Defaults to DefaultTimeout.
	Timeout time.Duration `yaml:"-"`
	// AllowPrivate are the prefixes of non-global addresses the destination
	// may reach, besides the literal address or localhost that URL names.
	AllowPrivate []netip.Prefix `yaml:"-"`
	// MaxResponseHeaders is how many bytes of headers an answer may have; one
	// with more is no answer. Defaults to 64 KiB.
	MaxResponseHeaders int `yaml:"-"`
	// UserAgent is for requests that bring none. Defaults to hooklatch.
	UserAgent string `yaml:"-"`
	// TracerProvider makes a client span for each attempt; nil: none.
	TracerProvider trace.TracerProvider `yaml:"-"`
	// RootCAs are the authorities the receiver's certificate is checked
	// against; nil: the system's.
	RootCAs *x509.CertPool `yaml:"-"`
	// Resolver looks up hosts; nil: the system's. What it answers is guarded.
	Resolver *net.Resolver `yaml:"-"`
}

// Basic is a user and a password.
type Basic struct {
	// Name of the user, without a colon.
	User string `yaml:"user,omitempty"`
	// Password of the user.
	Password secret.Value `yaml:"password,omitempty"`
}

// target is the URL that requests go to which bring none.
func (o HTTPOptions) target() string { return cmp.Or(o.SecretURL.Reveal(), o.URL) }

// ShownURL is where requests go that bring no URL of their own, as it may be stored and
// shown: of a secret URL its origin. It is empty where there is none that can be read.
func (o HTTPOptions) ShownURL() string {
	u, err := parseTarget(o.target())
	switch {
	case err != nil:
		return ""
	case o.SecretURL.IsZero():
		return u.String()
	}
	return u.Scheme + "://" + u.Host
}

// WithDefaults returns a copy in which what was left out has its default.
func (o HTTPOptions) WithDefaults() HTTPOptions {
	o.Method = cmp.Or(o.Method, http.MethodPost)
	o.IdempotencyHeader = cmp.Or(o.IdempotencyHeader, "Idempotency-Key")
	o.ReplayedHeader = cmp.Or(o.ReplayedHeader, "Idempotent-Replayed")
	o.MaxResponse = cmp.Or(o.MaxResponse, 64<<10)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.MaxResponseHeaders = cmp.Or(o.MaxResponseHeaders, maxResponseHeaders)
	o.UserAgent = cmp.Or(o.UserAgent, userAgent)
	return o
}

// parseTarget reads a URL a request may go to.
func parseTarget(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("url is not valid") // The error of net/url quotes all of it.
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("url has another scheme than http and https")
	case u.User != nil:
		return nil, errors.New("url contains a user or password")
	case u.Hostname() == "":
		return nil, errors.New("url names no host")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, errors.New("url has a port that does not exist: allowed are 1 to 65535")
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
