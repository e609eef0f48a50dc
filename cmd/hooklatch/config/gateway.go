package config

import (
	"net/netip"
	"time"

	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/outbox/size"
)

// Gateway configures the listener that takes deliveries.
type Gateway struct {
	// Address to listen on, host:port. Defaults to :8080, every address.
	Listen string `yaml:"listen,omitempty"`
	// Certificate and key, for a gateway that ends TLS itself. Defaults to plain
	// HTTP, for a proxy that does.
	TLS *KeyPair `yaml:"tls,omitempty"`
	// The URL under which senders reach the gateway, without /webhooks. Senders
	// that sign the URL sign this one; without it the request's own is taken.
	PublicURL string `yaml:"public_url,omitempty"`
	// Largest body of a delivery whose provider does not say otherwise; larger
	// ones are answered 413. Defaults to 1MiB.
	MaxBody size.Bytes `yaml:"max_body,omitempty"`
	// Proxies whose X-Forwarded-For and X-Forwarded-Proto are believed.
	// Defaults to none.
	TrustedProxies []netip.Prefix `yaml:"trusted_proxies,omitempty"`
	// Memory for bodies, over all deliveries; what finds no room is answered 503.
	// The first 64 KiB of each body are outside it, and one source may take half
	// of it. At least the cap of the source with the largest. Defaults to 256MiB.
	MaxBuffered size.Bytes `yaml:"max_buffered,omitempty"`
	// Most deliveries in progress at once; more are answered 503 before their
	// body is read. Defaults to 1024.
	MaxInFlight int `yaml:"max_in_flight,omitempty"`
	// Most of them of one source. Defaults to half of max_in_flight.
	MaxInFlightPerSource int `yaml:"max_in_flight_per_source,omitempty"`
	// Most of them of one client address before their sender is proven: an IPv4
	// address, or an IPv6 /64; one source may have half of those. Defaults to a
	// quarter of max_in_flight.
	MaxUnprovenPerAddress int `yaml:"max_unproven_per_address,omitempty"`
	// Most connections that are open at once; one address that is not a trusted
	// proxy may have half of them. More are closed as they come. Defaults to 16384.
	MaxConnections int `yaml:"max_connections,omitempty"`
	// Fewest bytes a second that a body brings on average once it has been coming
	// for 2s; a slower one is answered 408. Defaults to 10KiB.
	MinBodyRate size.Bytes `yaml:"min_body_rate,omitempty"`
	// How long a delivery may wait for its commit before it is answered 503.
	// Keep it below the senders' own time-outs, 3s for the shortest. Defaults to 2s.
	AcceptTimeout time.Duration `yaml:"accept_timeout,omitempty"`
	// How long a request may take to send its headers. Defaults to 5s.
	ReadHeaderTimeout time.Duration `yaml:"read_header_timeout,omitempty"`
	// How long a request may take to send all of itself. Defaults to 15s.
	ReadTimeout time.Duration `yaml:"read_timeout,omitempty"`
	// How long a request may take from the end of its headers to the end of its
	// answer. Longer than read_timeout. Defaults to 30s.
	WriteTimeout time.Duration `yaml:"write_timeout,omitempty"`
	// How long a connection may stay open between requests. Defaults to 90s.
	IdleTimeout time.Duration `yaml:"idle_timeout,omitempty"`
	// Largest header block of a request. Defaults to 16KiB.
	MaxHeader size.Bytes `yaml:"max_header,omitempty"`
	// How long a stopping gateway finishes what is in progress. Defaults to 10s.
	DrainTimeout time.Duration `yaml:"drain_timeout,omitempty"`
}

// Admin configures the listener for people and probes.
type Admin struct {
	// Address to listen on, host:port. Anything but a loopback address needs a
	// token. Defaults to 127.0.0.1:8081.
	Listen string `yaml:"listen,omitempty"`
	// Certificate and key. Defaults to plain HTTP.
	TLS *KeyPair `yaml:"tls,omitempty"`
	// Token that console, API and metrics ask for. A client address that was
	// wrong about it ten times is answered 429. Defaults to none, which only a
	// loopback address allows.
	Token secret.Value `yaml:"token,omitempty"`
	// URL under which people reach the console, for the links in jobs and
	// alerts, which are not written before it has pages they could lead to.
	// Defaults to the address above.
	ConsoleURL string `yaml:"console_url,omitempty"`
}

// Worker says how much one process works on at once.
type Worker struct {
	// Events dispatched at once. Defaults to 50.
	DispatchWorkers int `yaml:"dispatch_workers,omitempty"`
	// Events in handlers at once; each holds a transaction and so a
	// connection. Defaults to 20.
	HandlerWorkers int `yaml:"handler_workers,omitempty"`
	// How long a stopping worker lets its jobs finish before it cancels them.
	// Defaults to 20s.
	SoftStop time.Duration `yaml:"soft_stop,omitempty"`
}

// KeyPair names the certificate of a listener. Both files are read again at
// each reload.
type KeyPair struct {
	// PEM file with the certificate, followed by those that lead to its root.
	CertFile string `yaml:"cert_file"`
	// PEM file with the private key of the first of them.
	KeyFile string `yaml:"key_file"`
}
