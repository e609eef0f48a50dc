// Package testevent signs test events as their providers do, and delivers them to a gateway, for
// the command line and the console.
package testevent

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/roundtrip"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

const (
	// timeout limits one delivery; no provider waits longer.
	timeout = 30 * time.Second
	// maxAnswer is the maximum number of bytes read of a response.
	maxAnswer = 4 << 10
)

// ErrNoSecret is returned by New if a source has secrets, but none of them is valid now.
var ErrNoSecret = errors.New("has no secret that is valid now")

// Sender delivers signed events to one source. Close it after use.
type Sender struct {
	Target  Target
	Headers http.Header  // further headers of each delivery
	Key     secret.Value // secret that signs the deliveries

	provider *provider.Provider
	client   *http.Client
}

// New returns a Sender for a source of a configuration, with the source's first secret that is
// valid now. base is the base URL of the gateway; nil means the gateway's own listener, whose
// certificate is not verified. parallel is the number of deliveries that may run simultaneously.
// Errors: ErrNoSecret, config.Problems.
func New(cfg *config.Config, source string, base *url.URL, parallel int) (*Sender, error) {
	s := cfg.Sources[source]
	made, err := s.Sender()
	if err != nil {
		return nil, cfg.Problem("sources."+source, err.Error())
	}
	to, err := NewTarget(cfg, source, base)
	if err != nil {
		return nil, err
	}
	var certificates *tls.Config
	if base == nil { // the certificate of our own listener names the public host, not the loopback address
		certificates = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // our own listener, on this machine
	}
	key, ok := s.CurrentSecret(time.Now())
	if !ok && len(s.Secrets) > 0 {
		return nil, fmt.Errorf("source %q %w", source, ErrNoSecret)
	}
	return &Sender{
		Target: to, Key: key, provider: made,
		client: &http.Client{
			Timeout:       timeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport:     roundtrip.Bounded(&http.Transport{MaxIdleConnsPerHost: parallel, MaxConnsPerHost: parallel, DisableCompression: true, TLSClientConfig: certificates}),
		},
	}, nil
}

// Close closes idle connections.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// Sample returns the unsigned request for one event of the provider. An empty type means a common
// type of the provider, and an empty id means a new id.
func (s *Sender) Sample(eventType, id string) *provider.Request {
	return s.provider.Sample(eventType, id, time.Now())
}

// Sign returns one delivery of an event, signed now. It signs a copy, because signing changes the
// request.
func (s *Sender) Sign(event *provider.Request) (*provider.Request, error) {
	u := *s.Target.Signed
	r := &provider.Request{Method: event.Method, URL: &u, Header: event.Header.Clone(), Body: slices.Clone(event.Body)}
	maps.Copy(r.Header, s.Headers)
	if err := s.provider.Sign(r, s.Key, time.Now()); err != nil {
		return nil, fmt.Errorf("sign as %s: %w", s.provider.Title, err)
	}
	return r, nil
}

// IDOf returns the event id that the gateway will find in a request. It returns an empty id if
// there are several events, or no readable event.
func (s *Sender) IDOf(event *provider.Request) string {
	events, err := s.provider.Events(event)
	if err != nil || len(events) != 1 {
		return ""
	}
	return events[0].ID
}

// Answer is the result of one delivery.
type Answer struct {
	Status int    // 0 without a response
	Result string // header Hooklatch-Status
	Body   string // body of a response that is not 2xx
	Err    error
	Took   time.Duration
}

// Deliver signs an event, sends it in one delivery and reads the response.
func (s *Sender) Deliver(ctx context.Context, event *provider.Request) Answer {
	signed, err := s.Sign(event)
	if err != nil {
		return Answer{Err: err}
	}
	r, err := http.NewRequestWithContext(ctx, signed.Method, s.Target.URL(signed.URL), bytes.NewReader(signed.Body))
	if err != nil {
		return Answer{Err: err}
	}
	r.Header = signed.Header
	if host := signed.Header.Get("Host"); host != "" {
		r.Host = host
	}
	started := time.Now()
	response, err := s.client.Do(r)
	if err != nil {
		return Answer{Err: err, Took: time.Since(started)}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	a := Answer{Status: response.StatusCode, Result: response.Header.Get(gateway.StatusHeader), Err: err, Took: time.Since(started)}
	if a.Status/100 != 2 {
		a.Body = string(bytes.TrimSpace(body))
	}
	return a
}
