package config

import (
	"net/http"
	"regexp"
	"slices"

	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// headerName is a token (RFC 9110, 5.6.2).
var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

var (
	policies = []string{string(ledger.AtLeastOnce), string(ledger.AtMostOnce)}
	// onStoredErrors and onParks are what the fields of those names may say.
	onStoredErrors = []string{string(worker.OnStoredErrorKeep), string(worker.OnStoredErrorNewKey)}
	onParks        = []string{string(ledger.OnParkBlock), string(ledger.OnParkSkip)}
	methods        = destination.Methods()
	// framing are headers that the HTTP client sets itself.
	framing = []string{"Connection", "Content-Length", "Host", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}
)

// header checks the name of a header that a configuration may set.
func (d *decoder) header(path, header string) {
	switch {
	case !headerName.MatchString(header):
		d.reportf(path, "%s is not the name of a header", quote(header))
	case slices.Contains(framing, http.CanonicalHeaderKey(header)):
		d.reportf(path, "%s is set by the HTTP client", quote(header))
	}
}

// among checks that a value is one of those allowed.
func (d *decoder) among(path, what, given string, allowed []string) {
	if !slices.Contains(allowed, given) && !d.reported(path) {
		d.reportf(path, "%s is not a %s; %s", d.show(path, given), what, d.oneOf(path, given, allowed))
	}
}
