package destination

import (
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/hooklatch/hooklatch/internal/egress"
	"github.com/hooklatch/hooklatch/internal/safetext"
)

// sameOrigin says whether a request goes where the configuration says, and
// may carry the credentials that are meant for that place.
func (h *HTTP) sameOrigin(target *url.URL) bool { return sameOrigin(target, h.url) }

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && portOf(a) == portOf(b) && egress.CanonicalHost(a.Hostname()) == egress.CanonicalHost(b.Hostname())
}

// foreignHost stands in errors for a host that is not in the configuration: it is a value
// of an event, and errors have none.
const foreignHost = "the host of its URL"

// shownHost is the host of a target, as errors name it.
func shownHost(target *url.URL, configured ...*url.URL) string {
	if slices.ContainsFunc(configured, func(origin *url.URL) bool { return origin != nil && sameOrigin(target, origin) }) {
		return safetext.Line(target.Host, maxShownHost)
	}
	return foreignHost
}

// maxShownHost bounds what an error repeats of a URL, in bytes.
const maxShownHost = 100

// errForeign says that a signed request leads to an origin that may not have a signature.
var errForeign = errors.New("requests of this destination are signed, and this one goes neither to the origin of its url nor to one of its sign_origins")

// checkSigned refuses a target that may not be sent a signature: it could show the
// signature to the receivers that it was meant for.
func (h *HTTP) checkSigned(target *url.URL) error {
	if slices.ContainsFunc(h.signOrigins, func(origin *url.URL) bool { return sameOrigin(target, origin) }) {
		return nil
	}
	return errForeign
}

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
