package option

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// Check collects the faults in one options struct. Its zero value is ready for use.
type Check struct{ faults Faults }

// Err returns the collected Faults, or nil if there are none.
func (c *Check) Err() error {
	if len(c.faults) == 0 {
		return nil
	}
	return c.faults
}

// Failf reports a wrong value. The message does not quote a nil value.
func (c *Check) Failf(field string, given any, format string, args ...any) {
	c.faults = append(c.faults, &Fault{Field: field, Given: given, Problem: fmt.Sprintf(format, args...)})
}

// Missing reports that a required option is absent. The problem describes the struct that lacks the
// option: "has no url".
func (c *Check) Missing(field, problem string) {
	c.faults = append(c.faults, &Fault{Field: field, Problem: problem, Missing: true})
}

// Within reports the faults that Validate found in a field.
func (c *Check) Within(field string, err error) {
	c.faults = append(c.faults, FaultsOf(field, err)...)
}

// AtLeast reports a number below a minimum.
func (c *Check) AtLeast(field string, given, least int64) {
	if given < least {
		c.Failf(field, given, "is too small; it must be at least %d", least)
	}
}

// AtMost reports a number above a maximum.
func (c *Check) AtMost(field string, given, most int64) {
	if given > most {
		c.Failf(field, given, "is too large; it must be at most %d", most)
	}
}

// Between reports a number outside an inclusive range.
func (c *Check) Between(field string, given, least, most int64, what string) {
	if given < least || given > most {
		c.Failf(field, given, "is not %s; allowed: %d to %d", what, least, most)
	}
}

// Positive reports a duration that is not longer than 0.
func (c *Check) Positive(field string, given time.Duration) {
	if given <= 0 {
		c.Failf(field, given, "is too short; it must be longer than 0s")
	}
}

// NotNegative reports a duration below 0.
func (c *Check) NotNegative(field string, given time.Duration) {
	if given < 0 {
		c.Failf(field, given, "is negative; it must be at least 0s")
	}
}

// OneOf reports a word that is not allowed.
func (c *Check) OneOf(field, what, given string, allowed ...string) {
	switch {
	case slices.Contains(allowed, given):
	case len(allowed) == 0:
		c.Failf(field, given, "is not a %s; there are none", what)
	default:
		c.faults = append(c.faults, &Fault{Field: field, Given: given, Problem: "is not a " + what, Allowed: allowed})
	}
}

var namePattern = regexp.MustCompile(NamePattern)

// NamePattern is the pattern for the names of sources, destinations, routes, checks and statements.
const NamePattern = `^[a-z0-9][a-z0-9_-]{0,62}$`

// Name reports a name that cannot be used in a path, a key or a label.
func (c *Check) Name(field, given string) {
	if !namePattern.MatchString(given) {
		c.Failf(field, given, "is not a name; allowed: 1 to 63 lower-case letters, digits, hyphens and underscores, beginning with a letter or a digit")
	}
}

// Address parses a host:port to listen on, and returns the host. It reports a value of any other
// form, and then returns false.
func (c *Check) Address(field, given string) (host string, ok bool) {
	host, port, err := net.SplitHostPort(given)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		c.Failf(field, given, "is not an address to listen on; allowed: host:port or :port, like 127.0.0.1:8081")
	}
	return host, err == nil
}

const allowedURL = "allowed: an http:// or https:// URL with a host"

// URL parses a value. If the value is not an absolute http or https URL, or has a user, a fragment
// or a port above 65535, URL reports a fault and returns false. The fault quotes the value only if
// the value can be parsed and has neither a user nor a password.
func (c *Check) URL(field, given string) (*url.URL, bool) {
	u, err := url.Parse(given)
	if err != nil {
		c.Failf(field, nil, "is not a URL; %s", allowedURL)
		return nil, false
	}
	return u, c.WebURL(field, given, u)
}

// WebURL does the same as URL for a value that is already parsed. The parameter given is the text
// of the value, for the fault.
func (c *Check) WebURL(field, given string, u *url.URL) bool {
	_, err := strconv.ParseUint(u.Port(), 10, 16)
	switch {
	case u.User != nil:
		c.Failf(field, nil, "has a user or password; give them in separate fields")
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		c.Failf(field, given, "is not a web URL; %s", allowedURL)
	case u.Port() != "" && err != nil:
		c.Failf(field, given, "has port %s; allowed: up to 65535", u.Port())
	case u.Fragment != "":
		c.Failf(field, given, "has a fragment, which is never sent to a server")
	default:
		return true
	}
	return false
}
