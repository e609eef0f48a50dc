package config

import (
	"cmp"
	"net/http"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/loopback"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/riverjob"
	"github.com/hooklatch/hooklatch/worker"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// headerName is a token (RFC 9110, 5.6.2).
var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

var (
	policies = []string{string(outbox.AtLeastOnce), string(outbox.AtMostOnce)}
	tlsModes = []string{string(TLSStart), string(TLSImplicit), string(TLSNone)}
	// onStoredErrors and onParks are what the fields of those names may say.
	onStoredErrors = []string{string(worker.OnStoredErrorKeep), string(worker.OnStoredErrorNewKey)}
	onParks        = []string{string(outbox.OnParkBlock), string(outbox.OnParkSkip)}
	methods        = []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodGet}
	// framing are headers that the HTTP client sets itself.
	framing = []string{"Connection", "Content-Length", "Host", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}
)

// notPublic are the networks a permission can make sense for: the registries
// of special-purpose addresses (RFC 6890) without the multicast ranges.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("fc00::/7"), netip.MustParsePrefix("fe80::/10"),
	netip.MustParsePrefix("168.63.129.16/32"), // Azure's, public and refused all the same
	netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"),
}

func (dest Destination) check(d *decoder, destName string) {
	at := join("destinations", destName)
	d.name(at, destName)
	switch kinds := dest.kinds(); len(kinds) {
	case 0:
		d.missingf(at, "", "says nowhere to go; exactly one of http, smtp and sql must be given")
	case 1:
	default:
		d.reportf(at, "has %s; exactly one of them must be given", strings.Join(kinds, " and "))
	}
	if dest.HTTP != nil {
		dest.HTTP.check(d, at+".http")
	}
	if dest.SMTP != nil {
		dest.SMTP.check(d, at+".smtp")
	}
	if dest.SQL != nil {
		dest.SQL.check(d, at+".sql")
	}
	d.positive(at+".concurrency", int64(dest.Concurrency))
	d.notNegative(at+".burst", dest.Burst)
	if dest.Burst > 0 && dest.Rate.IsZero() {
		d.reportf(at+".burst", "%d means nothing without a rate; give one, like rate: 50/s", dest.Burst)
	}
	d.duration(at+".timeout", dest.Timeout)
	d.among(at+".policy", "policy", string(dest.Policy), policies)
	d.duration(at+".retry.initial", dest.Retry.Initial)
	d.duration(at+".retry.max", dest.Retry.Max)
	if dest.Retry.Initial > dest.Retry.Max && dest.Retry.Max > 0 {
		d.reportf(at+".retry.max", "%s is shorter than retry.initial, %s", dest.Retry.Max, dest.Retry.Initial)
	}
	d.positive(at+".retry.max_attempts", int64(dest.Retry.MaxAttempts))
	dest.checkRetryOn(d, at+".retry_on")
	d.durationFrom0(at+".key_ttl", dest.KeyTTL)
	d.among(at+".on_stored_error", "way to go on", string(dest.OnStoredError), onStoredErrors)
	dest.Breaker.check(d, at+".breaker")
	for i, prefix := range dest.AllowPrivate {
		path := d.element(at+".allow_private", i)
		if prefix.IsValid() && !slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Overlaps(prefix) && p.Bits() <= prefix.Bits() }) {
			d.reportf(path, "%s is not within a private network; public addresses need no permission, allowed are parts of 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 127.0.0.0/8, fc00::/7 and other special ranges", d.show(path, prefix.String()))
		}
	}
	switch {
	case dest.Queue == "":
	case !riverjob.IsQueueName(dest.Queue):
		d.reportf(at+".queue", "%s is not a queue name; allowed: lower-case letters and digits with single _, - or | between them, at most %d", d.show(at+".queue", dest.Queue), riverjob.MaxQueueName)
	case riverjob.IsReservedQueue(dest.Queue):
		d.reportf(at+".queue", "%s is a queue with another purpose", d.show(at+".queue", dest.Queue))
	}
}

// kinds are the keys of the destination that say where to go.
func (dest Destination) kinds() []string {
	var kinds []string
	for _, kind := range []struct {
		name  string
		given bool
	}{{"http", dest.HTTP != nil}, {"smtp", dest.SMTP != nil}, {"sql", dest.SQL != nil}} {
		if kind.given {
			kinds = append(kinds, kind.name)
		}
	}
	return kinds
}

func (dest Destination) checkRetryOn(d *decoder, at string) {
	if dest.RetryOn == nil {
		return
	}
	if dest.HTTP == nil {
		d.reportf(at, "means nothing without http; only its answers have these statuses")
		return
	}
	for i, status := range *dest.RetryOn {
		path := d.element(at, i)
		if !destination.MayRetryOn(dest.Policy, status) && !d.reported(path) {
			d.reportf(path, "%d is not a status to try again on; allowed: %s", status, destination.AllowedRetryOn(dest.Policy))
		}
	}
}

func (b Breaker) check(d *decoder, at string) {
	if b.Off {
		return
	}
	d.positive(at+".failures", int64(b.Failures))
	if b.Percent < 1 || b.Percent > 100 {
		d.reportf(at+".percent", "%d is not a percentage; allowed: 1 to 100", b.Percent)
	}
	d.positive(at+".min_calls", int64(b.MinCalls))
	d.duration(at+".window", b.Window)
	d.duration(at+".probe", b.Probe)
	if b.MaxProbe < b.Probe {
		d.reportf(at+".max_probe", "%s is shorter than probe, %s", b.MaxProbe, b.Probe)
	}
}

func (s *SQLDestination) check(d *decoder, at string) {
	if len(s.Statements) == 0 {
		d.missingf(at, "statements", "has no statements; give at least one, by name")
	}
	for name, text := range s.Statements {
		d.name(join(at+".statements", name), name)
		if strings.TrimSpace(text) == "" {
			d.reportf(join(at+".statements", name), "is empty; an SQL statement is expected")
		}
	}
}

func (h *HTTPDestination) check(d *decoder, at string) {
	if h.URL == "" {
		d.missingf(at, "url", "has no url")
	}
	d.webURL(at+".url", h.URL)
	d.among(at+".method", "method", h.Method, methods)
	if !headerName.MatchString(h.IdempotencyHeader) {
		d.reportf(at+".idempotency_header", "%s is not the name of a header", d.show(at+".idempotency_header", h.IdempotencyHeader))
	}
	if !headerName.MatchString(h.ReplayedHeader) {
		d.reportf(at+".replayed_header", "%s is not the name of a header", d.show(at+".replayed_header", h.ReplayedHeader))
	}
	d.positive(at+".max_response", int64(h.MaxResponse))
	for header, value := range h.Headers {
		d.header(join(at+".headers", header), header)
		if strings.ContainsFunc(value.Reveal(), unicode.IsControl) {
			d.reportf(join(at+".headers", header), "has a character that no header may have, such as a line break")
		}
	}
	authorization := !h.Bearer.IsZero() || h.BearerFile != ""
	if authorization && h.Basic != nil {
		d.reportf(at+".basic", "at most one of bearer and basic may be given")
	}
	for header := range h.Headers {
		if http.CanonicalHeaderKey(header) == "Authorization" && (authorization || h.Basic != nil) {
			d.reportf(join(at+".headers", header), "at most one of bearer, basic and an Authorization header may be given")
		}
	}
	if b := h.Basic; b != nil && b.User == "" {
		d.missingf(at+".basic", "user", "has no user")
	}
	if h.Sign != nil && len(h.Sign.StandardWebhooks) == 0 && h.Sign.StandardWebhooksFile == "" {
		d.missingf(at+".sign", "standard_webhooks", "has no secret; give standard_webhooks or standard_webhooks_file")
	}
	h.checkSign(d, at+".sign.standard_webhooks")
	h.checkSignOrigins(d, at+".sign_origins")
}

// checkSign checks each secret that requests are signed with.
func (h *HTTPDestination) checkSign(d *decoder, at string) {
	if h.Sign == nil {
		return
	}
	for i, value := range h.Sign.StandardWebhooks {
		err := destination.CheckSigningSecret(value)
		if err == nil {
			continue
		}
		path := d.element(at, i)
		write := `standard_webhooks: "raw:` + cmp.Or(d.expanded[path], "THE-SECRET") + `"`
		if h.Sign.StandardWebhooksFile != "" {
			path, write = at+"_file", "raw:THE-SECRET into the file"
		}
		if destination.IsSigningKeyPair(value) {
			d.reportf(path, "secret %d %s", i+1, err)
			continue
		}
		d.reportf(path, "secret %d %s; if the receiver takes the bytes as they are, write %s", i+1, err, write)
	}
}

func (h *HTTPDestination) checkSignOrigins(d *decoder, at string) {
	if len(h.SignOrigins) > 0 && h.Sign == nil {
		d.reportf(at, "means nothing without sign")
	}
	for i, given := range h.SignOrigins {
		path := d.element(at, i)
		d.webURL(path, given)
		if u, err := url.Parse(given); err == nil && (u.Path != "" && u.Path != "/" || u.RawQuery != "") && !d.reported(path) {
			d.reportf(path, "%s is more than an origin; allowed: scheme, host and port, like https://other.example.com:8443", d.show(path, given))
		}
	}
}

func (m *SMTPDestination) check(d *decoder, at string) {
	if m.Host == "" {
		d.missingf(at, "host", "has no host")
	}
	if m.From == "" {
		d.missingf(at, "from", "has no from")
	} else if _, err := mail.ParseAddress(m.From); err != nil {
		d.reportf(at+".from", "%s is not a mail address; allowed: one like app@example.com or App <app@example.com>", d.show(at+".from", m.From))
	}
	d.among(at+".tls", "TLS mode", string(m.TLS), tlsModes)
	if m.Port < 1 || m.Port > 65535 {
		d.reportf(at+".port", "%d is not a port; allowed: 1 to 65535", m.Port)
	}
	switch login := m.Username != ""; {
	case login && m.Password.IsZero() && m.PasswordFile == "":
		d.missingf(at, "password", "has a username but no password; give password or password_file")
	case !login && !m.Password.IsZero():
		d.missingf(at, "username", "has a password but no username")
	case login && m.TLS == TLSNone && !loopback.Is(m.Host):
		d.reportf(at+".tls", "none would send the password in the clear; allowed with a username: starttls, implicit")
	}
}

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
