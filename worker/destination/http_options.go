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

// DefaultTimeout limits an attempt at a destination that sets no timeout.
const DefaultTimeout = 15 * time.Second

const (
	maxResponseHeaders = 64 << 10
	userAgent          = "hooklatch"
)

// HTTPOptions configure the requests for effects of kind "http". At most one of Bearer, Basic and
// an Authorization among SecretHeaders may be set.
type HTTPOptions struct {
	// Name is the destination's name in the configuration. Required.
	Name string `yaml:"-"`
	// URL of requests whose route does not set a URL; http or https, without user and password. The
	// URL is stored in the ledger, so no part of it is treated as a secret. Exactly one of url and
	// secret_url is given.
	URL string `yaml:"url,omitempty"`
	// URL that is itself a secret, instead of url, such as an incoming webhook of Slack, Microsoft
	// Teams or Discord. The ledger and every display of requests contain only its origin, like
	// https://hooks.slack.com. Each attempt goes to the URL that is configured when it starts.
	SecretURL secret.Value `yaml:"secret_url,omitempty"`
	// Chat service of the incoming webhook: slack, teams or discord. Routes then give http.text, the
	// message. The preset sets the rate that the service allows: 1/s for slack, 2/s for teams and
	// discord. Defaults to none.
	Preset Preset `yaml:"preset,omitempty"`
	// Method of requests whose route does not set a method: POST, PUT, PATCH, DELETE or GET.
	// Defaults to POST.
	Method string `yaml:"method,omitempty"`
	// Headers are sent with every request and stored in the ledger, so they must not contain
	// secrets. A request's own header of the same name takes precedence.
	Headers map[string]string `yaml:"-"`
	// Headers of every request, such as an X-Api-Key. Their values are treated as secrets: they are
	// neither logged nor stored. Like the other credentials, these headers are sent only to the
	// scheme, host and port of url, and never to another origin from event data.
	SecretHeaders map[string]secret.Value `yaml:"headers,omitempty"`
	// Token that requests carry in the header Authorization (RFC 6750).
	Bearer secret.Value `yaml:"bearer,omitempty"`
	// User and password that requests carry in the header Authorization (RFC 7617).
	Basic *Basic `yaml:"basic,omitempty"`
	// Signatures of requests. Defaults to none.
	Sign *Sign `yaml:"sign,omitempty"`
	// Further origins to which a signature may be sent, like https://other.example.com. If requests
	// are signed, a request to any origin other than these and the origin of url is parked. Defaults
	// to none.
	SignOrigins []string `yaml:"sign_origins,omitempty"`
	// Header that carries the effect's idempotency key. Defaults to Idempotency-Key.
	IdempotencyHeader string `yaml:"idempotency_header,omitempty"`
	// Header by which the receiver marks the replay of a response that it stored for the key: "true"
	// together with a 5xx, or with a status of retry_on. Defaults to Idempotent-Replayed.
	ReplayedHeader string `yaml:"replayed_header,omitempty"`
	// If true, requests carry a traceparent header, so that the receiver's spans continue the
	// attempt's trace (W3C Trace Context). Defaults to false.
	PropagateTrace bool `yaml:"propagate_trace,omitempty"`
	// Maximum number of bytes of a response that are read. Defaults to 64KiB.
	MaxResponse size.Bytes `yaml:"max_response,omitempty"`

	// RetryOn are the statuses that mean that the receiver did not apply the effect and may still
	// accept it. Nil means DefaultRetryOn of the effect's policy, empty means none. An at_most_once
	// effect is retried only after statuses that are also in its policy's default.
	RetryOn []int `yaml:"-"`
	// Timeout limits one attempt, from the lookup of the host to the last byte of the response.
	// Defaults to DefaultTimeout.
	Timeout time.Duration `yaml:"-"`
	// AllowPrivate are the prefixes of non-global addresses that the destination may reach, in
	// addition to a literal address or localhost in URL.
	AllowPrivate []netip.Prefix `yaml:"-"`
	// MaxResponseHeaders is the maximum number of bytes of headers in a response; a response with
	// more is not accepted. Defaults to 64 KiB.
	MaxResponseHeaders int `yaml:"-"`
	// UserAgent is the User-Agent of requests that do not set one. Defaults to hooklatch.
	UserAgent string `yaml:"-"`
	// TracerProvider creates a client span for each attempt; nil for no spans.
	TracerProvider trace.TracerProvider `yaml:"-"`
	// RootCAs are the authorities that must have signed the receiver's certificate; nil for the
	// system's authorities.
	RootCAs *x509.CertPool `yaml:"-"`
	// Resolver looks up hosts; nil for the system's resolver. The egress guard checks the addresses.
	Resolver *net.Resolver `yaml:"-"`
}

// Basic is the login of HTTP Basic authentication (RFC 7617).
type Basic struct {
	// User name, without a colon.
	User string `yaml:"user,omitempty"`
	// The user's password.
	Password secret.Value `yaml:"password,omitempty"`
}

// target returns the URL for requests that do not set one.
func (o HTTPOptions) target() string { return cmp.Or(o.SecretURL.Reveal(), o.URL) }

// ShownURL returns the URL for requests that do not set one, in the form that may be stored
// and shown. A secret URL is reduced to its origin. The result is empty if the URL is invalid.
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

// WithDefaults returns a copy with the defaults filled in.
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

// parseTarget parses a URL to which a request may go.
func parseTarget(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("url is not valid") // net/url's error quotes the whole URL.
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("url has a scheme other than http and https")
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

// portOf returns the port of a URL, or the default port of its scheme.
func portOf(u *url.URL) string {
	if u.Scheme == "https" {
		return cmp.Or(u.Port(), "443")
	}
	return cmp.Or(u.Port(), "80")
}
