package route

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/internal/wildcard"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// Values of Forward.Headers.
const (
	// ForwardNoHeaders sends no headers of the delivery except its content type.
	ForwardNoHeaders = "none"
	// ForwardOriginalHeaders also sends headers of the delivery: see Forward.
	ForwardOriginalHeaders = "original"
)

// Forward sends the event as received: the exact bytes, the content type and the receipt time
// (destination.HeaderReceivedAt), signed as the destination is configured.
//
// Most senders do not sign their headers, and a receiver's own proxies and frameworks may trust
// headers. So a header that is not known to be the sender's own is forwarded only if Also or Allow
// contains its name. Connection and proxy headers, authorization and cookies are never forwarded.
type Forward struct {
	// original also forwards the delivery's headers that are the sender's own, such as
	// Stripe-Signature or X-GitHub-Event; none does not. Defaults to none.
	Headers string `yaml:"headers,omitempty"`
	// Names of further headers to forward, with * for any text. Connection and proxy
	// headers, authorization and cookies are never forwarded. Defaults to none.
	Also []string `yaml:"also,omitempty"`
	// Names of all headers to forward, with * for any text. If set, no other header is
	// forwarded. Defaults to the sender's own headers and the names in also.
	Allow []string `yaml:"allow,omitempty"`
	// Families are the names of the sender's own headers, by source.
	Families map[string][]string `yaml:"-"`
}

func (f *Forward) validate() error {
	var c option.Check
	if f.Headers != "" {
		c.OneOf("headers", "choice of headers", f.Headers, ForwardNoHeaders, ForwardOriginalHeaders)
	}
	if len(f.Allow) > 0 && len(f.Also) > 0 {
		c.Failf("also", nil, "has no effect with allow, which lists all headers that are sent")
	}
	for _, list := range []struct {
		field string
		names []string
	}{{"also", f.Also}, {"allow", f.Allow}} {
		if len(list.names) > 0 && f.Headers != ForwardOriginalHeaders {
			c.Failf(list.field, nil, "has no effect without headers: %s", ForwardOriginalHeaders)
		}
		for i, name := range list.names {
			if name == "" || strings.ContainsAny(name, " :\t\r\n") {
				c.Failf(fmt.Sprintf("%s[%d]", list.field, i), name, "is not the name of a header")
			}
		}
	}
	return c.Err()
}

// forwardRequest is a compiled Forward.
type forwardRequest struct {
	bodyless bool // true if no body is sent: the destination's method is GET or DELETE
	original bool
	families map[string][]string // in lower case, by source
	also     []string            // in lower case
	allow    []string            // in lower case; if empty, the fields families and also decide
	taken    map[string]bool     // canonical names of headers that the destination sets
}

func compileForward(f *Forward, to destination.Sender) *forwardRequest {
	if f == nil {
		return &forwardRequest{bodyless: to != nil && mayBeEmpty(to.FirstRequest(nil).Method)}
	}
	compiled := &forwardRequest{
		original: f.Headers == ForwardOriginalHeaders, taken: map[string]bool{},
		allow: lower(f.Allow), also: lower(f.Also), families: make(map[string][]string, len(f.Families)),
	}
	for source, names := range f.Families {
		compiled.families[source] = lower(names)
	}
	if owner, ok := to.(destination.HeaderOwner); ok {
		for _, name := range owner.OwnHeaders() {
			compiled.taken[name] = true
		}
	}
	return compiled
}

func lower(names []string) []string {
	patterns := make([]string, len(names))
	for i, name := range names {
		patterns[i] = strings.ToLower(name)
	}
	return patterns
}

func (f *forwardRequest) build(scope *eventScope) (ledger.Request, error) {
	e := scope.event
	request := ledger.Request{
		FromDelivery: true,
		ContentType:  forwardType(e),
		Headers:      map[string][]string{destination.HeaderReceivedAt: {e.ReceivedAt.UTC().Format(time.RFC3339Nano)}},
	}
	if f.bodyless {
		request.FromDelivery, request.ContentType = false, ""
	}
	if e.Origin == identity.Backfill {
		request.Headers[destination.HeaderOrigin] = []string{string(e.Origin)}
	}
	if !f.original {
		return request, nil
	}
	named := connectionOptions(e.Headers)
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		canonical := http.CanonicalHeaderKey(name)
		if f.taken[canonical] || named[canonical] || ofTheWay(canonical) || !f.allows(string(e.Source), canonical) {
			continue
		}
		for _, value := range e.Headers[name] {
			if !isHeaderValue(value) {
				return ledger.Request{}, fmt.Errorf("forward: header %s of the delivery has control characters", canonical)
			}
			request.Headers[canonical] = append(request.Headers[canonical], value)
		}
	}
	return request, nil
}

func (f *forwardRequest) allows(source, canonical string) bool {
	name := strings.ToLower(canonical)
	among := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool { return wildcard.Match(pattern, name) })
	}
	if len(f.allow) > 0 {
		return among(f.allow)
	}
	return among(f.families[source]) || among(f.also)
}

// connectionOptions returns the headers that the Connection header declares as connection headers
// (RFC 9110, section 7.6.1).
func connectionOptions(headers map[string][]string) map[string]bool {
	named := map[string]bool{}
	for name, values := range headers {
		if http.CanonicalHeaderKey(name) != "Connection" {
			continue
		}
		for _, value := range values {
			for option := range strings.SplitSeq(value, ",") {
				named[http.CanonicalHeaderKey(strings.TrimSpace(option))] = true
			}
		}
	}
	return named
}

// ofTheWay reports whether a header is never forwarded: it describes the connection or the proxies
// between the sender and Hooklatch, is a credential, or is set by Hooklatch itself. A receiver
// would assume that its own proxies set a proxy header.
func ofTheWay(canonical string) bool {
	switch canonical {
	case "Accept-Encoding", "Authorization", "Connection", "Content-Encoding", "Content-Length", "Content-Type",
		"Cookie", "Cookie2", "Expect", "Forwarded", "Host", "Http2-Settings", "Keep-Alive", "Max-Forwards",
		"Set-Cookie", "Te", "Traceparent", "Tracestate", "Trailer", "Transfer-Encoding", "Upgrade", "Via", "X-Real-Ip":
		return true
	}
	for _, prefix := range []string{"Proxy-", "X-Forwarded-", "Hooklatch-"} {
		if strings.HasPrefix(canonical, prefix) {
			return true
		}
	}
	return false
}
