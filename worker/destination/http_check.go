package destination

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

var methods = []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodGet}

// Methods returns the methods that an effect's request may have. Other methods, such as HEAD or
// CONNECT, cannot apply an effect or fetch a resource.
func Methods() []string { return slices.Clone(methods) }

// Validate checks options whose defaults are filled in. Its error is option.Faults.
func (o HTTPOptions) Validate() error {
	var c option.Check
	o.checkURL(&c)
	if o.Preset != "" {
		c.OneOf("preset", "preset", string(o.Preset), Presets()...)
	}
	c.OneOf("method", "method", o.Method, methods...)
	o.checkCredentials(&c)
	c.Within("sign", o.Sign.validate())
	o.checkSignOrigins(&c)
	if problem := headerProblem(o.IdempotencyHeader); problem != "" {
		c.Failf("idempotency_header", o.IdempotencyHeader, "%s", problem)
	}
	if !isToken(o.ReplayedHeader) {
		c.Failf("replayed_header", o.ReplayedHeader, "is not the name of a header")
	}
	c.AtLeast("max_response", int64(o.MaxResponse), 1)
	c.AtLeast("max_response_headers", int64(o.MaxResponseHeaders), 1)
	c.Positive("timeout", o.Timeout)
	c.Within("retry_on", CheckRetryOn(ledger.AtLeastOnce, o.RetryOn))
	if checkHeaderValue("", o.UserAgent) != nil {
		c.Failf("user_agent", nil, "has a character that no header may have, such as a line break")
	}
	return c.Err()
}

// checkURL requires exactly one URL. Its reports never repeat a secret URL.
func (o HTTPOptions) checkURL(c *option.Check) {
	switch {
	case o.URL == "" && o.SecretURL.IsZero():
		c.Missing("url", "has no url; give url, secret_url or url_file")
	case o.SecretURL.IsZero():
		c.URL("url", o.URL)
	case o.URL != "":
		c.Failf("secret_url", nil, "at most one of url and secret_url may be given")
	default:
		if u, err := parseTarget(o.SecretURL.Reveal()); err != nil {
			c.Failf("secret_url", nil, "is not a URL to which requests can be sent: %s", err)
		} else if isOrigin(u) {
			c.Failf("secret_url", nil, "is only an origin, which is not kept secret: add the secret path or query, or give url instead")
		}
	}
}

// checkCredentials allows at most one login, with texts that are valid in headers. Its reports
// never repeat a secret, but may repeat the user name.
func (o HTTPOptions) checkCredentials(c *option.Check) {
	loggedIn := !o.Bearer.IsZero() || o.Basic != nil
	if !o.Bearer.IsZero() && o.Basic != nil {
		c.Failf("basic", nil, "at most one of bearer and basic may be given")
	}
	if b := o.Basic; b != nil && b.User == "" {
		c.Missing("basic.user", "has no user")
	} else if b != nil && strings.Contains(b.User, ":") {
		c.Failf("basic.user", b.User, "has a colon, which would end the user name in the header")
	}
	const unfit = "has a character that no header may have, such as a line break"
	if checkHeaderValue("", o.Bearer.Reveal()) != nil {
		c.Failf("bearer", nil, unfit)
	}
	for _, name := range slices.Sorted(maps.Keys(o.SecretHeaders)) {
		field, canonical := "headers."+name, http.CanonicalHeaderKey(name)
		switch {
		case canonical == "Authorization" && loggedIn:
			c.Failf(field, nil, "at most one of bearer, basic and an Authorization header may be given")
		case canonical == "Authorization":
			loggedIn = true
		case canonical == http.CanonicalHeaderKey(o.IdempotencyHeader):
			c.Failf(field, nil, "%q is the idempotency_header", name)
		default:
			if problem := headerProblem(name); problem != "" {
				c.Failf(field, nil, "%q %s", name, problem)
			}
		}
		if checkHeaderValue("", o.SecretHeaders[name].Reveal()) != nil {
			c.Failf(field, nil, unfit)
		}
	}
}

// headerProblem returns the reason why a configuration must not set a header, or an empty string if
// it may.
func headerProblem(name string) string {
	switch canonical := http.CanonicalHeaderKey(name); {
	case !isToken(name):
		return "is not the name of a header"
	case reservedHeader(canonical) || isWebhookHeader(canonical):
		return "is set by the destination itself"
	}
	return ""
}

func (o HTTPOptions) checkSignOrigins(c *option.Check) {
	if len(o.SignOrigins) > 0 && o.Sign == nil {
		c.Failf("sign_origins", nil, "has no effect without sign")
	}
	for i, given := range o.SignOrigins {
		field := element("sign_origins", i)
		if u, ok := c.URL(field, given); ok && !isOrigin(u) {
			c.Failf(field, u.Scheme+"://"+u.Host+u.Path, "is more than an origin; allowed: scheme, host and port, like https://other.example.com:8443")
		}
	}
}

// element returns the path of a list element.
func element(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

func isOrigin(u *url.URL) bool {
	return (u.Path == "" || u.Path == "/") && u.RawQuery == "" && !u.ForceQuery
}
