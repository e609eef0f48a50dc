package destination

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/egress"
	"github.com/hooklatch/hooklatch/internal/failpoint"
	"github.com/hooklatch/hooklatch/internal/roundtrip"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

const (
	// idleTimeout is the maximum time that a connection waits for its next request. It is below
	// server timeouts (5 s in Node.js, 60 s and more elsewhere). If a server closes the connection
	// while a request is being sent, the attempt is in doubt.
	idleTimeout = 4 * time.Second
	// maxIdle is the maximum number of connections that a transport keeps for later requests, and
	// of free channels that a RabbitMQ connection keeps.
	maxIdle = 64
)

// HTTP sends effects of kind "http".
//
// HTTP follows no redirects, uses no proxy and requests no compression. Once an attempt has a
// connection, the effect may have been applied even without a response, unless an HTTP/2 receiver
// reports that it did not process the request.
type HTTP struct {
	name              string
	url               *url.URL
	shownURL          string // replaces url in the ledger
	hidesURL          bool   // url is a secret, and shownURL only its origin
	preset            Preset
	method            string
	headers           map[string]string // canonical names
	secretHeaders     map[string]string // canonical names
	signer            *signer
	signOrigins       []*url.URL // the first is url's origin
	idempotencyHeader string
	replayedHeader    string
	retryOn           []int
	userAgent         string
	timeout           time.Duration
	maxResponse       int
	propagateTrace    bool
	redactor          *redactor
	tracer            trace.Tracer
	now               func() time.Time

	transport *roundtrip.Transport
	// bodiless sends requests without a body, each on a new connection. net/http resends such a
	// request when a kept connection breaks. It cannot resend a request whose body it has read.
	bodiless *roundtrip.Transport
}

// NewHTTP checks the options. It does not connect.
func NewHTTP(o HTTPOptions) (*HTTP, error) {
	o = o.WithDefaults()
	o.IdempotencyHeader, o.ReplayedHeader = http.CanonicalHeaderKey(o.IdempotencyHeader), http.CanonicalHeaderKey(o.ReplayedHeader)
	if o.Name == "" {
		return nil, errors.New("http destination: Name is required")
	}
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("http destination %q: %w", o.Name, err)
	}
	target, err := parseTarget(o.target())
	if err != nil {
		return nil, fmt.Errorf("http destination %q: %w", o.Name, err)
	}
	signer, err := newSigner(o.Sign.standardWebhooks())
	if err != nil {
		return nil, fmt.Errorf("http destination %q: %w", o.Name, err)
	}
	signOrigins, err := originsToSign(target, o)
	if err != nil {
		return nil, fmt.Errorf("http destination %q: %w", o.Name, err)
	}
	guard, err := egress.New(egress.Options{Host: target.Hostname(), Port: portOf(target), AllowPrivate: o.AllowPrivate, Resolver: o.Resolver})
	if err != nil {
		return nil, fmt.Errorf("http destination %q: %w", o.Name, err)
	}
	h := &HTTP{
		name: o.Name, url: target, shownURL: o.ShownURL(), hidesURL: !o.SecretURL.IsZero(), preset: o.Preset, method: o.Method,
		headers: make(map[string]string, len(o.Headers)), secretHeaders: secretHeaders(o),
		signer: signer, signOrigins: signOrigins, idempotencyHeader: o.IdempotencyHeader, replayedHeader: o.ReplayedHeader, userAgent: o.UserAgent,
		retryOn: o.RetryOn,
		timeout: o.Timeout, maxResponse: int(o.MaxResponse), propagateTrace: o.PropagateTrace,
		redactor: newRedactor(secretsOf(o)...), tracer: newTracer(o.TracerProvider), now: clock.Now,
	}
	for name, value := range o.Headers {
		if err := h.CheckHeader(name, value); err != nil {
			return nil, fmt.Errorf("http destination %q: %w", o.Name, err)
		}
		h.headers[http.CanonicalHeaderKey(name)] = value
	}

	h.transport = newTransport(o, guard, connections{kept: true, http2: true})
	// This transport does not use HTTP/2, because net/http also resends requests over HTTP/2.
	h.bodiless = newTransport(o, guard, connections{})
	return h, nil
}

// connections are the kinds of connection that a transport opens.
type connections struct {
	kept  bool // kept open for the next request
	http2 bool // used if the server offers it
}

func newTransport(o HTTPOptions, guard *egress.Guard, c connections) *roundtrip.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(c.http2)
	return roundtrip.Bounded(&http.Transport{
		Proxy:                  nil, // A proxy from the environment would bypass the guard.
		DialContext:            guard.DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    o.Timeout,
		DisableCompression:     true,
		DisableKeepAlives:      !c.kept,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdle,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: int64(o.MaxResponseHeaders),
		Protocols:              protocols,
	})
}

// secretHeaders returns the credential headers as sent.
func secretHeaders(o HTTPOptions) map[string]string {
	headers := make(map[string]string, len(o.SecretHeaders)+1)
	for name, value := range o.SecretHeaders {
		headers[http.CanonicalHeaderKey(name)] = value.Reveal()
	}
	switch {
	case !o.Bearer.IsZero():
		headers["Authorization"] = "Bearer " + o.Bearer.Reveal()
	case o.Basic != nil:
		credentials := o.Basic.User + ":" + o.Basic.Password.Reveal()
		headers["Authorization"] = "Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))
	}
	return headers
}

// secretsOf returns the texts that must not appear in a stored response.
func secretsOf(o HTTPOptions) []string {
	secrets := []string{o.Bearer.Reveal(), o.SecretURL.Reveal()}
	if u, err := parseTarget(o.SecretURL.Reveal()); err == nil {
		secrets = append(secrets, u.RequestURI(), u.RawQuery)
	}
	if o.Basic != nil {
		secrets = append(secrets, o.Basic.Password.Reveal())
	}
	for _, value := range secretHeaders(o) {
		_, credentials, _ := strings.Cut(value, " ")
		secrets = append(secrets, value, credentials)
	}
	for _, value := range o.Sign.standardWebhooks() {
		text := value.Reveal()
		for _, prefix := range []string{encodedSecret, privateKey, rawSecret} {
			text = strings.TrimPrefix(text, prefix)
		}
		secrets = append(secrets, text)
	}
	return secrets
}

// String returns a text without the destination's secrets.
func (h *HTTP) String() string { return "http destination " + h.name }

// GoString returns the same text for %#v.
func (h *HTTP) GoString() string { return h.String() }

// signsWebhooks reports whether the destination sets the Standard Webhooks headers. If it does,
// requests cannot set them.
func (h *HTTP) signsWebhooks() bool { return len(h.signer.keys) > 0 }

// OwnHeaders implements HeaderOwner. It returns the idempotency key's header and the signature
// headers.
func (h *HTTP) OwnHeaders() []string {
	if !h.signsWebhooks() {
		return []string{h.idempotencyHeader}
	}
	return []string{h.idempotencyHeader, headerWebhookID, headerWebhookTimestamp, headerWebhookSignature}
}

// Kind implements Sender.
func (h *HTTP) Kind() string { return KindHTTP }

// Timeout implements TimeLimited.
func (h *HTTP) Timeout() time.Duration { return h.timeout }

// Close closes idle connections. A Send in progress continues.
func (h *HTTP) Close() error {
	h.transport.CloseIdleConnections()
	return nil
}

// Send implements Sender.
func (h *HTTP) Send(ctx context.Context, e *ledger.Effect) Outcome {
	ctx, span := h.tracer.Start(ctx, h.method+" "+h.name, trace.WithSpanKind(trace.SpanKindClient), spanOf(h.name, e))
	defer span.End()
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()

	var out Outcome
	if req, err := h.request(ctx, e); errors.Is(err, errForeign) {
		out = needsPerson(err)
	} else if err != nil {
		out = refused(err.Error())
	} else {
		span.SetName(req.Method + " " + h.name)
		span.SetAttributes(semconv.HTTPRequestMethodKey.String(req.Method))
		span.SetAttributes(serverOf(req.URL.Hostname(), portOf(req.URL))...)
		if e.Attempt > 1 {
			span.SetAttributes(semconv.HTTPRequestResendCount(e.Attempt - 1))
		}
		out = h.exchange(ctx, e, req)
	}
	recordOutcome(span, semconv.HTTPResponseStatusCodeKey, out)
	return out
}

// exchange sends the request and reads the response.
func (h *HTTP) exchange(ctx context.Context, e *ledger.Effect, req *http.Request) Outcome {
	transport := h.transport
	if req.Body == http.NoBody {
		transport = h.bodiless
	}
	var connected atomic.Bool
	client := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	var sent requestSent
	if failpoint.Enabled {
		sent = passWhenSent(client)
	}
	req = req.WithContext(httptrace.WithClientTrace(ctx, client))
	resp, err := transport.RoundTrip(req)
	if failpoint.Enabled && err == nil {
		resp, err = sent.awaited(ctx, resp)
	}
	if err != nil {
		host := shownHost(req.URL, h.signOrigins...)
		if !connected.Load() {
			return notConnected(ctx, host, h.timeout, err)
		}
		if unprocessed(err) {
			return Outcome{Verdict: ledger.VerdictNotApplied, Err: errors.New(oneLine(host + " did not process the request and asked the client to send it again"))}
		}
		return Outcome{Verdict: ledger.VerdictMaybeApplied, Err: noAnswer(ctx, host, h.timeout, err)}
	}
	defer resp.Body.Close()

	out := h.answered(e, resp.StatusCode, resp.Header)
	replayable := out.Verdict == ledger.VerdictTurnedAway || resp.StatusCode >= 500 && resp.StatusCode <= 599
	out.StoredError = replayable && strings.EqualFold(resp.Header.Get(h.replayedHeader), "true")
	// The status decides the outcome, even if reading the body fails. Only a preset overrides a
	// 2xx, and only if the body reports a failure. If the body is read to its end, the connection
	// can be reused.
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(h.maxResponse)+1))
	if failure := h.preset.failure(body); failure != 0 && out.Verdict == ledger.VerdictDone {
		out = h.answered(e, failure, resp.Header)
	}
	cutOff := err != nil || len(body) > h.maxResponse
	out.Excerpt = h.redactor.excerpt(body[:min(len(body), h.maxResponse)], cutOff)
	return out
}
