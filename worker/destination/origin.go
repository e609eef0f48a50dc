package destination

import (
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/hooklatch/hooklatch/internal/egress"
	"github.com/hooklatch/hooklatch/internal/safetext"
)

// sameOrigin reports whether a request goes to the configured origin. Only such a request may
// carry the destination's credentials.
func (h *HTTP) sameOrigin(target *url.URL) bool { return sameOrigin(target, h.url) }

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && portOf(a) == portOf(b) && egress.CanonicalHost(a.Hostname()) == egress.CanonicalHost(b.Hostname())
}

// foreignHost replaces, in errors, a host that is not in the configuration: such a host is an event
// value, and errors must not contain event values.
const foreignHost = "the host of its URL"

// shownHost returns a target's host as errors show it.
func shownHost(target *url.URL, configured ...*url.URL) string {
	if slices.ContainsFunc(configured, func(origin *url.URL) bool { return origin != nil && sameOrigin(target, origin) }) {
		return safetext.Line(target.Host, maxShownHost)
	}
	return foreignHost
}

// maxShownHost is the maximum number of bytes of a host that an error repeats.
const maxShownHost = 100

// errForeign is returned for a signed request to an origin that must not receive a signature.
var errForeign = errors.New("requests of this destination are signed, and may go only to the origin of its url or to one of its sign_origins")

// checkSigned rejects a target that must not receive a signature, because the target could forward
// the signed request to the intended receivers.
func (h *HTTP) checkSigned(target *url.URL) error {
	if slices.ContainsFunc(h.signOrigins, func(origin *url.URL) bool { return sameOrigin(target, origin) }) {
		return nil
	}
	return errForeign
}

// originsToSign returns the origins that may receive a signature.
func originsToSign(own *url.URL, o HTTPOptions) ([]*url.URL, error) {
	origins := []*url.URL{own}
	for i, raw := range o.SignOrigins {
		origin, err := parseTarget(raw)
		if err != nil {
			return nil, fmt.Errorf("sign origin %d: %w", i+1, err)
		}
		origins = append(origins, origin)
	}
	return origins, nil
}
