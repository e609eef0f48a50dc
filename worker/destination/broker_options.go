package destination

import (
	"cmp"
	"crypto/x509"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// BrokerOptions are the options that all message brokers share.
type BrokerOptions struct {
	// Name is the destination's name in the configuration. Required.
	Name string `yaml:"-"`
	// Servers of the broker, as host or host:port. The first server that accepts the connection is
	// used. Required.
	Servers []string `yaml:"servers,omitempty"`
	// If true, the connection is encrypted, and the server's certificate is verified. Defaults to
	// false.
	TLS bool `yaml:"tls,omitempty"`
	// User to log in as.
	Username string `yaml:"username,omitempty"`
	// The user's password.
	Password secret.Value `yaml:"password,omitempty"`
	// If true, messages carry a traceparent header, so that the consumer's spans continue the
	// attempt's trace (W3C Trace Context). Defaults to false.
	PropagateTrace bool `yaml:"propagate_trace,omitempty"`

	// Timeout limits one attempt, from the connection to the acknowledgement. Defaults to
	// DefaultTimeout.
	Timeout time.Duration `yaml:"-"`
	// AllowPrivate are the prefixes of non-global addresses that the destination may reach, in
	// addition to literal addresses and localhost in Servers.
	AllowPrivate []netip.Prefix `yaml:"-"`
	// TracerProvider creates a producer span for each attempt; nil for no spans.
	TracerProvider trace.TracerProvider `yaml:"-"`
	// RootCAs are the authorities that must have signed the server's certificate; nil for the
	// system's authorities.
	RootCAs *x509.CertPool `yaml:"-"`
	// Resolver looks up hosts; nil for the system's resolver. The egress guard checks the addresses.
	Resolver *net.Resolver `yaml:"-"`
}

// withDefaults returns a copy with the defaults filled in. Servers without a port get the
// broker's default port.
func (o BrokerOptions) withDefaults(port int) BrokerOptions {
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	servers := make([]string, len(o.Servers))
	for i, server := range o.Servers {
		if _, _, err := net.SplitHostPort(server); err != nil && !strings.Contains(server, "/") {
			server = net.JoinHostPort(strings.Trim(server, "[]"), strconv.Itoa(port))
		}
		servers[i] = server
	}
	o.Servers = servers
	return o
}

// check adds the faults of the options to c. It quotes no server, because the text that is given as
// a server may contain a password.
func (o BrokerOptions) check(c *option.Check) {
	if len(o.Servers) == 0 {
		c.Missing("servers", "has no servers; give at least one, like broker.example.com")
	}
	for i, server := range o.Servers {
		host, port, err := net.SplitHostPort(server)
		number, noNumber := strconv.ParseUint(port, 10, 16)
		if err != nil || noNumber != nil || number == 0 || host == "" || strings.ContainsAny(host, "/@ ") {
			c.Failf(element("servers", i), nil, "is not a server; allowed: host or host:port, with tls, username and password in their own fields")
		}
	}
	switch {
	case o.Username != "" && o.Password.IsZero():
		c.Missing("password", "has a username but no password; give password or password_file")
	case o.Username == "" && !o.Password.IsZero():
		c.Missing("username", "has a password but no username")
	}
	c.Positive("timeout", o.Timeout)
}
