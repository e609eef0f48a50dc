package destination

import (
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/hooklatch/hooklatch/outbox/egress"
	"github.com/hooklatch/hooklatch/outbox/safetext"
)

// sameOrigin says whether a request goes where the configuration says, and
// may carry the credentials that are meant for that place.
func (h *HTTP) sameOrigin(target *url.URL) bool { return sameOrigin(target, h.url) }

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && portOf(a) == portOf(b) && egress.CanonicalHost(a.Hostname()) == egress.CanonicalHost(b.Hostname())
}

// foreignError says that a signed request leads to an origin that may not have
// a signature.
type foreignError struct{ origin string }

func (e *foreignError) Error() string {
	return fmt.Sprintf("requests of this destination are signed, and %s is neither the origin of its url nor among its sign_origins", e.origin)
}

func isForeign(err error) bool {
	_, ok := errors.AsType[*foreignError](err)
	return ok
}

// checkSigned refuses a target that may not be sent a signature: it could show the
// signature to the receivers that it was meant for.
func (h *HTTP) checkSigned(target *url.URL) error {
	if slices.ContainsFunc(h.signOrigins, func(origin *url.URL) bool { return sameOrigin(target, origin) }) {
		return nil
	}
	return &foreignError{origin: safetext.Line(target.Scheme+"://"+target.Host, maxShownOrigin)}
}

// maxShownOrigin bounds what an error repeats of a URL from an event.
const maxShownOrigin = 100

// originsToSign are those that may be sent a signature.
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
