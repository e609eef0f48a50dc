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

// Check collects the faults of one struct of options. Its zero value is ready
// to use.
type Check struct{ faults Faults }

// Err is nil where nothing is wrong, else Faults.
func (c *Check) Err() error {
	if len(c.faults) == 0 {
		return nil
	}
	return c.faults
}

// Failf reports a value; nil is not repeated.
func (c *Check) Failf(field string, given any, format string, args ...any) {
	c.faults = append(c.faults, &Fault{Field: field, Given: given, Problem: fmt.Sprintf(format, args...)})
}

// Missing reports an option that must be given. The problem is about the struct
// that has none: "has no url".
func (c *Check) Missing(field, problem string) {
	c.faults = append(c.faults, &Fault{Field: field, Problem: problem, Missing: true})
}

// Within reports the faults that Validate found in a field.
func (c *Check) Within(field string, err error) {
	c.faults = append(c.faults, FaultsOf(field, err)...)
}

// AtLeast wants a number that is not below a bound.
func (c *Check) AtLeast(field string, given, least int64) {
	if given < least {
		c.Failf(field, given, "is too small; it must be at least %d", least)
	}
}

// AtMost wants a number that is not above a bound.
func (c *Check) AtMost(field string, given, most int64) {
	if given > most {
		c.Failf(field, given, "is too much; it must be at most %d", most)
	}
}

// Between wants a number between two, themselves included.
func (c *Check) Between(field string, given, least, most int64, what string) {
	if given < least || given > most {
		c.Failf(field, given, "is not %s; allowed: %d to %d", what, least, most)
	}
}

// Positive wants a duration that is longer than nothing.
func (c *Check) Positive(field string, given time.Duration) {
	if given <= 0 {
		c.Failf(field, given, "is too short; it must be longer than 0s")
	}
}

// NotNegative wants a duration, where nothing is one.
func (c *Check) NotNegative(field string, given time.Duration) {
	if given < 0 {
		c.Failf(field, given, "is too short; it must be longer than 0s")
	}
}

// OneOf wants one of some words.
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

// NamePattern is what names of sources, destinations, routes and statements
// match.
const NamePattern = `^[a-z0-9][a-z0-9_-]{0,62}$`

// Name wants a name that can stand in a path, in a key and in a label.
func (c *Check) Name(field, given string) {
	if !namePattern.MatchString(given) {
		c.Failf(field, given, "is not a name; allowed: 1 to 63 lower-case letters, digits, hyphens and underscores, beginning with a letter or a digit")
	}
}

// Address wants a host:port to listen on, and returns its host.
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

// URL wants an absolute http or https URL. It is repeated only where it has no
// user and password, and can be read at all.
func (c *Check) URL(field, given string) (*url.URL, bool) {
	u, err := url.Parse(given)
	if err != nil {
		c.Failf(field, nil, "is not a URL; %s", allowedURL)
		return nil, false
	}
	return u, c.WebURL(field, given, u)
}

// WebURL is URL for one that was read already; given is its text.
func (c *Check) WebURL(field, given string, u *url.URL) bool {
	_, err := strconv.ParseUint(u.Port(), 10, 16)
	switch {
	case u.User != nil:
		c.Failf(field, nil, "has a user or password; give them in fields of their own")
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		c.Failf(field, given, "is not a URL of the web; %s", allowedURL)
	case u.Port() != "" && err != nil:
		c.Failf(field, given, "has port %s; allowed: up to 65535", u.Port())
	case u.Fragment != "":
		c.Failf(field, given, "has a fragment, which no server sees")
	default:
		return true
	}
	return false
}
