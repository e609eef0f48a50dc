package destination

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/egress"
	"github.com/hooklatch/hooklatch/internal/roundtrip"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

const (
	// DefaultFetchTimeout is the default of FetchOptions.Timeout.
	DefaultFetchTimeout = 5 * time.Second
	// maxFetched is the maximum size of a response in bytes: the object is input for templates, not
	// a download.
	maxFetched = 1 << 20
)

// FetchOptions configure how the current state of an object is read before an effect is rendered.
type FetchOptions struct {
	// Origin is the configured scheme, host and port of the API, such as "https://api.example.com".
	// Bearer is sent only to this origin. Only this origin may be localhost or a non-public literal
	// address that AllowPrivate does not list. If Origin is empty, no address has this exemption,
	// and Bearer must be empty.
	Origin string
	// Bearer is sent as "Authorization: Bearer ..." to Origin.
	Bearer secret.Value
	// Timeout limits one request. Defaults to DefaultFetchTimeout.
	Timeout time.Duration
	// AllowPrivate are the non-global address prefixes that may be reached.
	AllowPrivate []netip.Prefix
	// RootCAs are the certificate authorities to trust; nil for the system's.
	RootCAs *x509.CertPool
	// Resolver looks up hosts; nil for the system's resolver. Its results must pass the egress
	// guard.
	Resolver *net.Resolver
}

// Fetcher reads the current state of objects with GET requests that follow no redirects, use no
// proxy and pass the egress guard. It is safe for concurrent use and keeps no connections.
type Fetcher struct {
	origin    *url.URL // nil without an origin
	header    http.Header
	timeout   time.Duration
	transport *roundtrip.Transport
}

// NewFetcher checks the options. It does not connect.
func NewFetcher(o FetchOptions) (*Fetcher, error) {
	o.Timeout = cmp.Or(o.Timeout, DefaultFetchTimeout)
	f := &Fetcher{header: fetchHeader(), timeout: o.Timeout}
	host, port := "", ""
	if o.Origin != "" {
		origin, err := parseTarget(o.Origin)
		if err != nil {
			return nil, err
		}
		f.origin, host, port = origin, origin.Hostname(), portOf(origin)
	}
	switch {
	case o.Timeout < 0:
		return nil, fmt.Errorf("timeout must be more than 0, got %s", o.Timeout)
	case !o.Bearer.IsZero() && f.origin == nil:
		return nil, errors.New("a bearer token needs an origin to which it may be sent")
	case checkHeaderValue("bearer", o.Bearer.Reveal()) != nil:
		return nil, errors.New("bearer has a character headers cannot have")
	case !o.Bearer.IsZero():
		f.header.Set("Authorization", "Bearer "+o.Bearer.Reveal())
	}
	guard, err := egress.New(egress.Options{Host: host, Port: port, AllowPrivate: o.AllowPrivate, Resolver: o.Resolver})
	if err != nil {
		return nil, err
	}
	f.transport = newTransport(HTTPOptions{RootCAs: o.RootCAs, Timeout: o.Timeout, MaxResponseHeaders: maxResponseHeaders}, guard, connections{http2: true})
	return f, nil
}

func fetchHeader() http.Header {
	return http.Header{"Accept": {"application/json"}, "User-Agent": {userAgent}}
}

// Fetch implements StateReader.
func (f *Fetcher) Fetch(ctx context.Context, target string) ([]byte, *Outcome) {
	return fetch(ctx, f.transport, f.timeout, target, []*url.URL{f.origin}, func(u *url.URL) http.Header {
		header := f.header.Clone()
		if f.origin == nil || !sameOrigin(u, f.origin) {
			header.Del("Authorization")
		}
		return header
	})
}

// Fetch implements StateReader. It treats the URL like an effect's URL. It sends the destination's
// credentials only if the URL has the destination's own origin, and the destination's guard checks
// the host. The timeout is the destination's, but at most DefaultFetchTimeout.
func (h *HTTP) Fetch(ctx context.Context, target string) ([]byte, *Outcome) {
	return fetch(ctx, h.bodiless, min(h.timeout, DefaultFetchTimeout), target, h.signOrigins, func(u *url.URL) http.Header {
		header := fetchHeader()
		header.Set("User-Agent", h.userAgent)
		if h.sameOrigin(u) {
			for name, value := range h.secretHeaders {
				header.Set(name, value)
			}
		}
		return header
	})
}

// fetch returns the body of a 200 response, otherwise the attempt's outcome. The outcome is
// "refused" if the URL is invalid or the guard refuses its host. Otherwise it is "not applied",
// because the effect was not sent.
func fetch(ctx context.Context, transport http.RoundTripper, timeout time.Duration, target string, configured []*url.URL, header func(*url.URL) http.Header) ([]byte, *Outcome) {
	failed := func(format string, args ...any) ([]byte, *Outcome) {
		return nil, &Outcome{
			Verdict: ledger.VerdictNotApplied,
			Err:     errors.New(oneLine("refetch: " + fmt.Sprintf(format, args...))),
		}
	}
	u, err := parseTarget(target)
	if err != nil {
		out := refused("refetch: " + err.Error())
		return nil, &out
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req := (&http.Request{Method: http.MethodGet, URL: u, Host: u.Host, Header: header(u), Body: http.NoBody,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(ctx)
	host := shownHost(u, configured...)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		if _, blocked := errors.AsType[*egress.BlockedError](err); blocked {
			out := notConnected(ctx, host, timeout, err)
			return nil, &out
		}
		return failed("%s", connectionError(ctx, host, timeout, err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		_, out := failed("%s answered HTTP %d %s", host, resp.StatusCode, http.StatusText(resp.StatusCode))
		out.RetryAfter = retryAfter(resp.Header, clock.Now())
		return nil, out
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxFetched+1))
	switch {
	case err != nil:
		return failed("%s ended its answer early", host)
	case len(body) > maxFetched:
		return failed("%s answered more than %d bytes", host, maxFetched)
	}
	return body, nil
}

// OriginOf returns the scheme, host and port of all URLs that begin with the given literal. The
// literal must contain the slash that follows them, so that the rest of a URL cannot change the
// origin. The port may be missing.
func OriginOf(literal string) (string, error) {
	scheme, rest, _ := strings.Cut(literal, "://")
	authority, _, ends := strings.Cut(rest, "/")
	if !ends {
		return "", errors.New("must begin with a literal scheme, host and slash, like \"https://api.example.com/\"")
	}
	origin := scheme + "://" + authority
	if _, err := parseTarget(origin); err != nil {
		return "", err
	}
	return origin, nil
}
