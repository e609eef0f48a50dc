package destination

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/internal/tracing"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Headers that describe the attempt and its event.
const (
	headerAttempt     = "Hooklatch-Attempt"      // counted from 1
	headerEventID     = "Hooklatch-Event-Id"     // percent-encoded: see headerText
	headerEventType   = "Hooklatch-Event-Type"   // percent-encoded: see headerText
	headerEventSource = "Hooklatch-Event-Source" // percent-encoded: see headerText

	// HeaderReceivedAt is the header with the time at which a forwarded event was received, as
	// RFC 3339 in UTC. Forward requests set it.
	HeaderReceivedAt = "Hooklatch-Received-At"
	// HeaderOrigin is the header with the origin of a forwarded event that did not arrive by
	// webhook. The only such origin is backfill.
	HeaderOrigin = "Hooklatch-Origin"
)

// FirstRequest implements Sender. It returns the method, URL and headers for a request that does
// not set them. They are the same for every effect, so the effect can be nil.
func (h *HTTP) FirstRequest(*ledger.Effect) ledger.Request {
	headers := make(map[string][]string, len(h.headers))
	for name, value := range h.headers {
		headers[name] = []string{value}
	}
	return ledger.Request{Method: h.method, URL: h.shownURL, Headers: headers}
}

// completed returns r with the method, URL and headers that the first claim of an effect adds to
// its request. It returns r unchanged after that claim.
func (h *HTTP) completed(r ledger.Request) ledger.Request {
	if r.URL != "" && r.Method != "" {
		return r
	}
	return r.CompletedBy(h.FirstRequest(nil))
}

// CheckHeader implements HeaderChecker.
func (h *HTTP) CheckHeader(name, value string) error {
	if _, ok := h.secretHeaders[http.CanonicalHeaderKey(name)]; ok {
		return fmt.Errorf("header %s is a secret header of the destination, and requests must not set it", http.CanonicalHeaderKey(name))
	}
	return h.checkHeader(name, value)
}

func (h *HTTP) checkHeader(name, value string) error {
	if err := CheckHeaderName(name); err != nil {
		return err
	}
	canonical := http.CanonicalHeaderKey(name)
	// If the destination has no signing keys, these headers are the provider's own signature, which
	// a forward passes on.
	if isWebhookHeader(canonical) && h.signsWebhooks() || canonical == h.idempotencyHeader {
		return setByDestination(canonical)
	}
	return checkHeaderValue(canonical, value)
}

// CheckHeader returns an error if no request may set this header to this value, regardless of the
// destination.
func CheckHeader(name, value string) error {
	if err := CheckHeaderName(name); err != nil {
		return err
	}
	return checkHeaderValue(http.CanonicalHeaderKey(name), value)
}

// CheckHeaderName returns an error if no request may set this header, regardless of the
// destination.
func CheckHeaderName(name string) error {
	canonical := http.CanonicalHeaderKey(name)
	switch {
	case !isToken(name):
		return fmt.Errorf("header name %q is not valid", safetext.Line(name, 64))
	case reservedHeader(canonical) && canonical != HeaderReceivedAt && canonical != HeaderOrigin:
		return setByDestination(canonical)
	}
	return nil
}

func setByDestination(canonical string) error {
	return fmt.Errorf("header %s is set by the destination; a request must not set it", canonical)
}

// request builds the request of one attempt. Any error except errForeign is final, because the
// request that the ledger stores never changes.
func (h *HTTP) request(ctx context.Context, e *ledger.Effect) (*http.Request, error) {
	r := h.completed(e.Request)
	target, err := h.target(r.URL)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(methods, r.Method) {
		return nil, fmt.Errorf("method is not one of %s", strings.Join(methods, ", "))
	}
	header, err := h.header(ctx, e, r, target)
	if err != nil {
		return nil, err
	}
	req := (&http.Request{
		Method: r.Method, URL: target, Host: target.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: http.NoBody,
	}).WithContext(ctx)
	if len(r.Body) > 0 {
		// GetBody is not set, so net/http cannot send the body a second time. With GetBody,
		// net/http would resend a request that has an Idempotency-Key when a reused connection
		// breaks.
		req.Body = io.NopCloser(bytes.NewReader(r.Body))
		req.ContentLength = int64(len(r.Body))
	}
	return req, nil
}

// target returns the URL for a request. If the stored URL is the destination's own, target returns
// the configured URL, which may be a secret. A secret URL is stored as its origin, without a slash.
// Any other stored origin without a slash belongs to an earlier secret URL, because the URL of a
// route is never stored in this form.
func (h *HTTP) target(stored string) (*url.URL, error) {
	u, err := parseTarget(stored)
	if stored == h.shownURL || err == nil && h.hidesURL && u.Path == "" && isOrigin(u) {
		return parseTarget(h.url.String())
	}
	return u, err
}

func (h *HTTP) header(ctx context.Context, e *ledger.Effect, r ledger.Request, target *url.URL) (http.Header, error) {
	// The destination sets these headers below. A request that was created before the destination
	// set them may contain headers of the same names.
	own := h.OwnHeaders()
	header, err := requestHeader(r, func(name, value string) error {
		if slices.Contains(own, http.CanonicalHeaderKey(name)) {
			return nil
		}
		return h.checkHeader(name, value)
	})
	if err != nil {
		return nil, err
	}
	if header.Get("User-Agent") == "" {
		header.Set("User-Agent", h.userAgent)
	}

	wireKey := wireKeyOf(e)
	header.Set(h.idempotencyHeader, wireKey)
	describe(header, e)
	if h.signsWebhooks() {
		if err := h.checkSigned(target); err != nil {
			return nil, err
		}
		timestamp, signature := h.signer.sign(wireKey, h.now(), r.Body)
		header.Set(headerWebhookID, wireKey)
		header.Set(headerWebhookTimestamp, timestamp)
		header.Set(headerWebhookSignature, signature)
	}
	if h.sameOrigin(target) {
		for name, value := range h.secretHeaders {
			header.Set(name, value)
		}
	}
	if h.propagateTrace {
		propagate(ctx, e.Traceparent, header)
	}
	return header, nil
}

// requestHeader returns the headers that a request sets itself. It fails if check rejects a header.
func requestHeader(r ledger.Request, check func(name, value string) error) (http.Header, error) {
	header := make(http.Header, len(r.Headers)+12)
	for _, name := range headerOrder(r.Headers) {
		canonical := http.CanonicalHeaderKey(name)
		delete(header, canonical)
		for _, value := range r.Headers[name] {
			if err := check(name, value); err != nil {
				return nil, err
			}
			header.Add(canonical, value)
		}
	}
	if r.ContentType != "" {
		if checkHeaderValue("Content-Type", r.ContentType) != nil {
			return nil, errors.New("content type has a character headers cannot have")
		}
		header.Set("Content-Type", r.ContentType)
	}
	return header, nil
}

// describe sets the headers that describe the attempt and its event.
func describe(header http.Header, e *ledger.Effect) {
	header.Set(headerAttempt, strconv.Itoa(e.Attempt))
	if e.Event != (identity.EventRef{}) {
		header.Set(headerEventID, headerText(string(e.Event.EventID)))
		header.Set(headerEventType, headerText(e.EventType))
		header.Set(headerEventSource, headerText(string(e.Event.Source)))
	}
}

// wireKeyOf returns the key that the attempt carries: the effect's own key, until the ledger
// rotates it because a receiver stored an error for that key.
func wireKeyOf(e *ledger.Effect) string { return cmp.Or(e.WireKey, e.IdempotencyKey) }

// headerOrder sorts header names with canonical spelling first, so that other spellings override
// them: the ledger can store a request's "x-key" and the destination's own "X-Key".
func headerOrder(headers map[string][]string) []string {
	return slices.SortedFunc(maps.Keys(headers), func(a, b string) int {
		return cmp.Or(
			cmp.Compare(spelling(a), spelling(b)),
			cmp.Compare(a, b),
		)
	})
}

func spelling(name string) int {
	if name == http.CanonicalHeaderKey(name) {
		return 0
	}
	return 1
}

// propagate adds the attempt's trace to the headers, or the event's trace if the attempt is not
// traced.
func propagate(ctx context.Context, traceparent string, header http.Header) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = tracing.WithParent(ctx, traceparent)
	}
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(header))
}

// reservedHeader reports whether a header, given in canonical form, is set by the destination or
// the connection. Neither a configuration nor a request may set such a header, with two exceptions:
// requests may set HeaderReceivedAt and HeaderOrigin, and SecretHeaders may contain Authorization.
func reservedHeader(canonical string) bool {
	switch canonical {
	case "Authorization", "Connection", "Content-Length", "Expect", "Host", "Keep-Alive",
		"Te", "Traceparent", "Tracestate", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return strings.HasPrefix(canonical, "Hooklatch-") || strings.HasPrefix(canonical, "Proxy-")
}

// isWebhookHeader reports whether a destination that signs its requests sets the header.
func isWebhookHeader(canonical string) bool {
	return canonical == headerWebhookID || canonical == headerWebhookSignature || canonical == headerWebhookTimestamp
}

// isToken reports whether a name is a valid header name (RFC 9110, section 5.6.2).
func isToken(name string) bool {
	for _, c := range []byte(name) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && !('0' <= c && c <= '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return name != ""
}

// checkHeaderValue rejects control characters: a line break would start another header.
func checkHeaderValue(name, value string) error {
	for _, c := range []byte(value) {
		if c < ' ' && c != '\t' || c == 0x7f {
			return fmt.Errorf("header %s has a line break or control character", name)
		}
	}
	return nil
}

// headerText percent-encodes the percent sign and everything except visible ASCII, because the
// provider chooses the ids and types of events.
func headerText(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c <= ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
