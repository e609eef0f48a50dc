package gateway

import (
	"cmp"
	"crypto/tls"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/internal/size"
	"github.com/hooklatch/hooklatch/outbox/measure"
)

// Options configure a Gateway.
type Options struct {
	// Accepter commits deliveries. Required.
	Accepter Accepter `yaml:"-"`
	// Quarantine keeps refused deliveries. Nil keeps nothing.
	Quarantine Quarantine `yaml:"-"`
	// Sources are the endpoints, one POST /webhooks/{name} each. SetSources replaces them
	// while the gateway runs.
	Sources []Source `yaml:"-"`

	// Address to listen on, host:port. Defaults to :8080, every address.
	Listen string `yaml:"listen,omitempty"`
	// Listener, if set, replaces Listen, for a port that another process, such as systemd,
	// keeps open. Leave and Stop close Listener.
	Listener net.Listener `yaml:"-"`
	// TLS makes Start serve HTTPS: HTTP/1.1 over TLS 1.2 or newer. Its GetCertificate may
	// change certificates while the gateway runs. Nil serves plain HTTP, for a proxy that
	// terminates TLS.
	TLS *tls.Config `yaml:"-"`
	// PublicURL is the URL at which senders reach this gateway: scheme and host, and the
	// path prefix that a proxy strips, if any. Senders that sign their URL are verified
	// against it. If nil, scheme and host come from the request, and from X-Forwarded-Proto
	// and X-Forwarded-Host of a trusted proxy.
	PublicURL *url.URL `yaml:"-"`
	// Addresses of proxies whose X-Forwarded-* headers are trusted. Defaults to none.
	TrustedProxies []netip.Prefix `yaml:"trusted_proxies,omitempty"`

	// Maximum size of a delivery's body. A larger body is answered with 413. A source's own
	// max_body replaces this limit. Otherwise, a provider whose documented bodies are larger
	// raises it. Defaults to 1MiB.
	MaxBody size.Bytes `yaml:"max_body,omitempty"`
	// Memory for the bodies of all deliveries; a body that does not fit is answered with 503. The
	// first 64 KiB of each body are not counted, and one source may use half of the memory.
	// Must be at least the largest body limit of any source. Defaults to 256MiB.
	MaxBuffered size.Bytes `yaml:"max_buffered,omitempty"`
	// Maximum number of simultaneous deliveries with a complete body, while they are verified
	// and committed; further deliveries are answered with 503. Unknown senders may use
	// three quarters of this number. Defaults to 1024.
	MaxInFlight int `yaml:"max_in_flight,omitempty"`
	// Maximum number of simultaneous deliveries whose body is arriving. Unknown senders may
	// use three quarters of this number, and one source half. At the limit, the slowest
	// unverified delivery is answered with 503 to make room for a new one. Defaults to twice
	// max_in_flight.
	MaxArriving int `yaml:"max_arriving,omitempty"`
	// Maximum share of max_in_flight that one source may use, as a number of deliveries. Defaults
	// to half of max_in_flight.
	MaxInFlightPerSource int `yaml:"max_in_flight_per_source,omitempty"`
	// Maximum number of simultaneous deliveries from one client address (an IPv4 address, or
	// an IPv6 /64) whose sender is not verified yet. At most half of them may be for one source.
	// A network of unknown senders (IPv4 /24, IPv6 /48) may have twice this number. Defaults to
	// a quarter of max_in_flight.
	MaxUnprovenPerAddress int `yaml:"max_unproven_per_address,omitempty"`
	// Maximum number of open connections; further connections are closed as they arrive. Unknown
	// senders may use three quarters of this number. One address may use an eighth, or half if
	// deliveries from it were accepted. At the limit, or if unknown senders have used their share,
	// a new connection replaces the oldest connection of an unknown sender. Defaults to 16384.
	MaxConnections int `yaml:"max_connections,omitempty"`
	// Minimum average rate of a body, in bytes per second, once the body has been arriving for
	// 2s; a slower body is answered with 503. Defaults to 10KiB.
	MinBodyRate size.Bytes `yaml:"min_body_rate,omitempty"`
	// Time limit for a request's headers. Defaults to 5s.
	ReadHeaderTimeout time.Duration `yaml:"read_header_timeout,omitempty"`
	// Time limit for a whole request, headers and body. Defaults to 15s.
	ReadTimeout time.Duration `yaml:"read_timeout,omitempty"`
	// Time limit from the end of a request's headers to the end of the response. Must be longer
	// than read_timeout. Defaults to 30s, or twice read_timeout if that is longer.
	WriteTimeout time.Duration `yaml:"write_timeout,omitempty"`
	// Maximum time that a connection may stay open between requests. Defaults to 1m30s.
	IdleTimeout time.Duration `yaml:"idle_timeout,omitempty"`
	// Maximum size of a request's headers; net/http allows up to 4 KiB in addition. Defaults
	// to 16KiB.
	MaxHeader size.Bytes `yaml:"max_header,omitempty"`

	// LargeBody is called before memory is allocated for more than 256 KiB of a body. A
	// process that seldom collects garbage, because it needs little memory, can then return to
	// normal collection. May be nil.
	LargeBody func() `yaml:"-"`
	// Minutes counts outcomes by the minute. Nil counts nothing.
	Minutes *measure.Counts `yaml:"-"`
	// Logger defaults to a logger that discards everything.
	Logger *slog.Logger `yaml:"-"`
	// TracerProvider and MeterProvider default to the global ones.
	TracerProvider trace.TracerProvider `yaml:"-"`
	MeterProvider  metric.MeterProvider `yaml:"-"`
	// Now is the clock for signed timestamps, the periods of secrets, durations and the limits of
	// log lines. Defaults to this process's clock.
	Now func() time.Time `yaml:"-"`
}

// WithDefaults returns a copy in which every unset field that a configuration file can set has
// its default.
func (o Options) WithDefaults() Options {
	o.Listen = cmp.Or(o.Listen, ":8080")
	o.MaxBody = cmp.Or(o.MaxBody, 1<<20)
	o.MaxBuffered = cmp.Or(o.MaxBuffered, 256<<20)
	o.MaxInFlight = cmp.Or(o.MaxInFlight, 1024)
	o.MaxArriving = cmp.Or(o.MaxArriving, 2*max(o.MaxInFlight, 1))
	o.MaxInFlightPerSource = cmp.Or(o.MaxInFlightPerSource, half(max(o.MaxInFlight, 1)))
	o.MaxUnprovenPerAddress = cmp.Or(o.MaxUnprovenPerAddress, half(half(max(o.MaxInFlight, 1))))
	o.MaxConnections = cmp.Or(o.MaxConnections, 16_384)
	o.MinBodyRate = cmp.Or(o.MinBodyRate, 10<<10)
	o.ReadHeaderTimeout = cmp.Or(o.ReadHeaderTimeout, 5*time.Second)
	o.ReadTimeout = cmp.Or(o.ReadTimeout, 15*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, max(30*time.Second, 2*o.ReadTimeout))
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 90*time.Second)
	o.MaxHeader = cmp.Or(o.MaxHeader, 16<<10)
	return o
}

// withServices fills in the fields that no configuration file can set.
func (o Options) withServices() Options {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.TracerProvider = cmp.Or(o.TracerProvider, otel.GetTracerProvider())
	o.MeterProvider = cmp.Or(o.MeterProvider, otel.GetMeterProvider())
	if o.Now == nil {
		o.Now = clock.Now
	}
	if o.LargeBody == nil {
		o.LargeBody = func() {}
	}
	return o
}

// Validate checks the fields that a configuration file can set. Call it after WithDefaults.
// Its error is option.Faults.
func (o Options) Validate() error {
	var c option.Check
	c.Address("listen", o.Listen)
	c.AtLeast("max_body", int64(o.MaxBody), 1)
	c.AtLeast("max_header", int64(o.MaxHeader), 1)
	c.AtLeast("max_buffered", int64(o.MaxBuffered), 1)
	c.AtLeast("max_in_flight", int64(o.MaxInFlight), 1)
	c.AtLeast("max_arriving", int64(o.MaxArriving), 1)
	o.checkShare(&c, "max_in_flight_per_source", o.MaxInFlightPerSource)
	o.checkShare(&c, "max_unproven_per_address", o.MaxUnprovenPerAddress)
	c.AtLeast("max_connections", int64(o.MaxConnections), 1)
	c.AtLeast("min_body_rate", int64(o.MinBodyRate), 1)
	c.Positive("read_header_timeout", o.ReadHeaderTimeout)
	c.Positive("read_timeout", o.ReadTimeout)
	c.Positive("write_timeout", o.WriteTimeout)
	c.Positive("idle_timeout", o.IdleTimeout)
	if o.WriteTimeout > 0 && o.WriteTimeout <= o.ReadTimeout {
		c.Failf("write_timeout", o.WriteTimeout, "leaves no time to answer a slow body; it must be longer than read_timeout, %s", o.ReadTimeout)
	}
	return c.Err()
}

// checkShare checks that a share of MaxInFlight is at least 1 and at most MaxInFlight.
func (o Options) checkShare(c *option.Check, field string, share int) {
	c.AtLeast(field, int64(share), 1)
	if o.MaxInFlight > 0 && share > o.MaxInFlight {
		c.Failf(field, share, "is more than max_in_flight, %d", o.MaxInFlight)
	}
}
