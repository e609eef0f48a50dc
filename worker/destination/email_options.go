package destination

import (
	"cmp"
	"crypto/x509"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/internal/egress"
	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Modes of encrypting the connection to an SMTP server.
const (
	TLSStartTLS = "starttls" // starts unencrypted, then encrypts or fails (RFC 3207)
	TLSImplicit = "implicit" // encrypted from the first byte (RFC 8314)
	TLSNone     = "none"     // never encrypted
)

// EmailOptions configure the SMTP server for effects of kind "email".
type EmailOptions struct {
	// Name is the destination's name in the configuration. Required.
	Name string `yaml:"-"`
	// Name or address of the mail server. Required.
	Host string `yaml:"host,omitempty"`
	// Port of the mail server. Defaults to 587 with starttls, 465 with implicit, 25 with none.
	Port int `yaml:"port,omitempty"`
	// Sender of the emails: an address, or a name and an address in <>. Required.
	From string `yaml:"from,omitempty"`
	// User to log in as, with the first of SCRAM-SHA-256, PLAIN, LOGIN and
	// CRAM-MD5 that the server offers. Defaults to no login.
	Username string `yaml:"username,omitempty"`
	// The user's password.
	Password secret.Value `yaml:"password,omitempty"`
	// Encryption of the connection: starttls (after an unencrypted greeting), implicit (from the
	// first byte) or none. Defaults to starttls, without falling back to an unencrypted connection.
	TLS string `yaml:"tls,omitempty"`

	// AllowPlaintext permits TLSNone to a Host that is not localhost or a loopback address, although
	// the messages can then be read in transit. A password is never sent over such a connection.
	AllowPlaintext bool `yaml:"-"`
	// Timeout limits one attempt. Defaults to DefaultTimeout.
	Timeout time.Duration `yaml:"-"`
	// HELO is the name by which the client introduces itself. Defaults to the machine's name, or to
	// localhost if that name is not valid in EHLO.
	HELO string `yaml:"-"`
	// AllowPrivate are the prefixes of non-global addresses that the destination may reach, in
	// addition to a Host that is a literal address or localhost.
	AllowPrivate []netip.Prefix `yaml:"-"`
	// TracerProvider creates a client span for each attempt; nil for no spans.
	TracerProvider trace.TracerProvider `yaml:"-"`
	// RootCAs are the authorities that must have signed the server's certificate; nil for the
	// system's authorities.
	RootCAs *x509.CertPool `yaml:"-"`
	// Resolver looks up Host; nil for the system's resolver. The egress guard checks the addresses.
	Resolver *net.Resolver `yaml:"-"`
}

// WithDefaults returns a copy with the defaults filled in.
func (o EmailOptions) WithDefaults() EmailOptions {
	o.TLS = cmp.Or(o.TLS, TLSStartTLS)
	o.Port = cmp.Or(o.Port, portOfTLS(o.TLS))
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	return o
}

func portOfTLS(mode string) int {
	switch mode {
	case TLSImplicit:
		return 465
	case TLSNone:
		return 25
	}
	return 587
}

// Validate checks options whose defaults are filled in. Its error is option.Faults.
func (o EmailOptions) Validate() error {
	var c option.Check
	if o.Host == "" {
		c.Missing("host", "has no host")
	} else if _, err := netip.ParseAddr(o.Host); err != nil && strings.ContainsAny(o.Host, ":/@[] ") {
		c.Failf("host", o.Host, "is not the name or address of a server; allowed: one like mail.example.com, with port, tls and username in their own fields")
	}
	c.Between("port", int64(o.Port), 1, 65535, "a port")
	if o.From == "" {
		c.Missing("from", "has no from")
	} else if _, err := parseAddress(o.From); err != nil {
		c.Failf("from", o.From, "is not an email address; allowed: an address like app@example.com or App <app@example.com>")
	}
	c.OneOf("tls", "TLS mode", o.TLS, TLSStartTLS, TLSImplicit, TLSNone)
	switch inTheClear := o.TLS == TLSNone && !isLoopback(o.Host); {
	case inTheClear && o.Username != "":
		c.Failf("tls", nil, "none would send the password in the clear; allowed with a username: starttls, implicit")
	case inTheClear && !o.AllowPlaintext:
		c.Failf("tls", nil, "none is allowed for localhost only, unless AllowPlaintext is set; host is %q", o.Host)
	}
	switch {
	case o.Username != "" && o.Password.IsZero():
		c.Missing("password", "has a username but no password; give password or password_file")
	case o.Username == "" && !o.Password.IsZero():
		c.Missing("username", "has a password but no username")
	}
	c.Positive("timeout", o.Timeout)
	if o.HELO != "" && !isHELO(o.HELO) {
		c.Failf("helo", o.HELO, "is not a host name")
	}
	return c.Err()
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return egress.CanonicalHost(host) == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// ownHELO returns this machine's name if it is usable in EHLO, otherwise localhost.
func ownHELO() string {
	if name, err := os.Hostname(); err == nil && isHELO(name) {
		return name
	}
	return "localhost"
}

// isHELO reports whether a name can be an argument of EHLO.
func isHELO(name string) bool {
	for _, c := range []byte(name) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return name != ""
}
