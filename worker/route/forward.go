package route

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// What Forward.Headers says.
const (
	// ForwardNoHeaders sends none of the delivery's headers but its content type.
	ForwardNoHeaders = "none"
	// ForwardOriginalHeaders sends the delivery's headers too.
	ForwardOriginalHeaders = "original"
)

// Forward sends the event as it came: the exact bytes, its content type and
// when it was received (destination.HeaderReceivedAt), signed as the
// destination says.
type Forward struct {
	// Headers is ForwardNoHeaders (the default) or ForwardOriginalHeaders: those
	// of Families. Most senders do not sign their headers, and a receiver may
	// trust what its own proxies and frameworks read from them, so that no other
	// is sent. Those of the connection, of proxies on the way to us,
	// authorization and cookies never are.
	Headers string
	// Families are the headers that are the sender's own, by source; in all
	// names here "*" stands for any run of characters.
	Families map[string][]string
	// Also are the names of further headers.
	Also []string
	// Allow are the names of all headers that are sent, in place of Families
	// and Also. Empty: those.
	Allow []string
}

// forwardRequest is a Forward, compiled.
type forwardRequest struct {
	original bool
	families map[string][]string // in lower case, by source
	also     []string            // in lower case
	allow    []string            // in lower case; empty: families and also
	taken    map[string]bool     // canonical names the destination sets itself
}

func compileForward(f *Forward, to destination.Sender, fail failFunc) *forwardRequest {
	if f == nil {
		return &forwardRequest{}
	}
	compiled := &forwardRequest{original: f.Headers == ForwardOriginalHeaders, taken: map[string]bool{}}
	switch f.Headers {
	case "", ForwardNoHeaders, ForwardOriginalHeaders:
	default:
		fail("forward.headers", "", fmt.Errorf("is %q, it must be %s or %s", f.Headers, ForwardNoHeaders, ForwardOriginalHeaders))
	}
	if len(f.Allow) > 0 && len(f.Also) > 0 {
		fail("forward.also", "", errors.New("means nothing beside allow, which names all headers that are sent"))
	}
	compiled.allow = headerPatterns("forward.allow", f.Allow, compiled.original, fail)
	compiled.also = headerPatterns("forward.also", f.Also, compiled.original, fail)
	compiled.families = make(map[string][]string, len(f.Families))
	for source, names := range f.Families {
		compiled.families[source] = headerPatterns("forward.families", names, true, fail)
	}
	if owner, ok := to.(destination.HeaderOwner); ok {
		for _, name := range owner.OwnHeaders() {
			compiled.taken[name] = true
		}
	}
	return compiled
}

// headerPatterns are names of headers in lower case.
func headerPatterns(field string, names []string, original bool, fail failFunc) []string {
	if len(names) > 0 && !original {
		fail(field, "", fmt.Errorf("means nothing without headers: %s", ForwardOriginalHeaders))
	}
	patterns := make([]string, 0, len(names))
	for _, name := range names {
		if name == "" || strings.ContainsAny(name, " :\t\r\n") {
			fail(field, "", fmt.Errorf("%q is not the name of a header", name))
		}
		patterns = append(patterns, strings.ToLower(name))
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
	if !f.original {
		return request, nil
	}
	named := connectionOptions(e.Headers)
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		canonical := http.CanonicalHeaderKey(name)
		if f.taken[canonical] || named[canonical] || ofTheWay(canonical) || !f.allows(e.Source, canonical) {
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
		return slices.ContainsFunc(patterns, func(pattern string) bool { return MatchType(pattern, name) })
	}
	if len(f.allow) > 0 {
		return among(f.allow)
	}
	return among(f.families[source]) || among(f.also)
}

// connectionOptions are the headers that Connection declares to be of the
// connection (RFC 9110, section 7.6.1).
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

// ofTheWay tells which headers of a delivery are about its way to us, or are
// credentials: a receiver would take them for what its own proxies say.
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
