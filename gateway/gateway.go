// Package gateway takes deliveries of webhooks over HTTP, proves who sent them,
// and answers 2xx only for what is committed.
package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/outbox"
)

// Defaults of Options.
const (
	DefaultListen            = ":8080"
	DefaultMaxBody           = 1 << 20
	DefaultMaxBuffered       = 256 << 20
	DefaultMaxInFlight       = 1024
	DefaultMaxConnections    = 16_384
	DefaultMinBodyRate       = 10 << 10
	DefaultReadHeaderTimeout = 5 * time.Second
	DefaultReadTimeout       = 15 * time.Second
	DefaultWriteTimeout      = 30 * time.Second
	DefaultIdleTimeout       = 90 * time.Second
	DefaultMaxHeaderBytes    = 16 << 10
)

// Accepter commits a delivery. When Accept returns without an error, every
// event of the delivery is committed; *outbox.Outbox is the one we ship. It
// calls the Release of a delivery when it no longer holds the body. When the
// sender hung up meanwhile, that is the only call.
type Accepter interface {
	Accept(ctx context.Context, d outbox.Delivery) (outbox.Acceptance, error)
}

var _ Accepter = (*outbox.Outbox)(nil)

// Options configure a Gateway.
type Options struct {
	// Accepter commits deliveries. Required.
	Accepter Accepter
	// Sources are the endpoints, one POST /webhooks/{name} each. SetSources
	// replaces them while the gateway runs.
	Sources []Source

	// Listen is the TCP address of Start. Defaults to DefaultListen.
	Listen string
	// TLS makes Start serve HTTPS: HTTP/1.1 over TLS 1.2 or newer. Its
	// GetCertificate may change certificates while the gateway runs. Nil: plain
	// HTTP, for a proxy that ends TLS.
	TLS *tls.Config
	// PublicURL is how senders reach this gateway: scheme and host, and the
	// path prefix a proxy strips, if any. Senders that sign their URL are
	// verified against it. Nil: scheme and host of the request, and, from a
	// trusted proxy, of X-Forwarded-Proto and X-Forwarded-Host.
	PublicURL *url.URL
	// TrustedProxies are the peers whose X-Forwarded-* headers are believed.
	// Defaults to none.
	TrustedProxies []netip.Prefix

	// MaxBody is the largest body taken, in bytes. The MaxBody of a provider
	// raises it for its sources. Defaults to DefaultMaxBody.
	MaxBody int64
	// MaxBuffered is the budget, in bytes, for the bodies in memory. The first
	// 64 KiB of each are outside it. One source may take half of it, and never
	// less than one body of its cap. A delivery that finds no room is answered
	// 503. Defaults to DefaultMaxBuffered.
	MaxBuffered int64
	// MaxInFlight is how many deliveries may be read and committed at once;
	// more are answered 503 before their body is read. Defaults to
	// DefaultMaxInFlight.
	MaxInFlight int
	// MaxInFlightPerSource is how many of them one source may have. Defaults to
	// half of MaxInFlight.
	MaxInFlightPerSource int
	// MaxUnprovenPerAddress is how many of them one client address may have
	// before the proof of who sends them: an IPv4 address, or an IPv6 /64. One
	// source may have half of those. Defaults to a quarter of MaxInFlight.
	MaxUnprovenPerAddress int
	// MaxConnections is how many connections may be open at once; one address
	// that is not a trusted proxy may have half of them. More are closed as
	// they come. Defaults to DefaultMaxConnections.
	MaxConnections int
	// MinBodyRate is how many bytes a second a body must bring, on average,
	// once it has been coming for two seconds; a slower one is answered 408.
	// Defaults to DefaultMinBodyRate.
	MinBodyRate int64
	// ReadHeaderTimeout bounds the reading of a header. Defaults to
	// DefaultReadHeaderTimeout.
	ReadHeaderTimeout time.Duration
	// ReadTimeout bounds the reading of a whole request. Defaults to
	// DefaultReadTimeout.
	ReadTimeout time.Duration
	// WriteTimeout bounds a request from the end of its header to the end of
	// its answer: it must be longer than ReadTimeout. Defaults to
	// DefaultWriteTimeout, or twice ReadTimeout when that is longer.
	WriteTimeout time.Duration
	// IdleTimeout is how long a connection may wait for its next request.
	// Defaults to DefaultIdleTimeout.
	IdleTimeout time.Duration
	// MaxHeaderBytes bounds the request line and the headers, give or take the
	// 4 KiB net/http adds. Defaults to DefaultMaxHeaderBytes.
	MaxHeaderBytes int

	// Logger defaults to one that discards.
	Logger *slog.Logger
	// TracerProvider and MeterProvider default to the global ones.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	// Now is the clock that signed timestamps are compared with. Defaults to
	// time.Now.
	Now func() time.Time
}

// Gateway is the HTTP server of all sources. It is safe for concurrent use and
// for one Start.
type Gateway struct {
	opts        Options
	echo        *echo.Echo
	server      *http.Server
	proxies     proxies
	sources     atomic.Pointer[sourceSet]
	connections *connections
	flights     *flights
	memory      *memory
	meters      *meters
	tracer      trace.Tracer
	log         *deliveryLog

	mu       sync.Mutex // guards listener and stopped
	listener net.Listener
	stopped  bool
	serving  sync.WaitGroup
}

// New checks opts and returns a Gateway that does not listen yet.
func New(opts Options) (*Gateway, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	g := &Gateway{
		opts:        opts,
		proxies:     opts.TrustedProxies,
		connections: newConnections(opts.MaxConnections, opts.TrustedProxies),
		flights:     newFlights(flightLimits{all: opts.MaxInFlight, perSource: opts.MaxInFlightPerSource, perAddress: opts.MaxUnprovenPerAddress}),
		memory:      newMemory(opts.MaxBuffered),
		tracer:      opts.TracerProvider.Tracer(scopeName),
		log:         newDeliveryLog(opts.Logger, opts.Now),
	}
	if err := g.SetSources(opts.Sources); err != nil {
		return nil, err
	}
	meters, err := newMeters(opts.MeterProvider, gauges{
		inFlight: g.flights.inFlight, buffered: g.memory.reserved, connections: g.connections.open, refused: g.connections.turnedAway,
	})
	if err != nil {
		return nil, err
	}
	g.meters = meters
	g.echo = g.routes()
	g.server = g.newServer()
	return g, nil
}

// Handler is the gateway as a handler, for a server of the caller's. The
// time-outs and the header cap of Options are those of Start only; Stop drains
// both.
func (g *Gateway) Handler() http.Handler { return g.echo }

// SetSources replaces all sources at once. Deliveries in flight end with the
// sources they began with. On an error the old ones stay.
func (g *Gateway) SetSources(sources []Source) error {
	set, err := newSourceSet(sources, g.opts)
	if err != nil {
		return err
	}
	g.sources.Store(set)
	return nil
}

func (o Options) withDefaults() Options {
	defaultTo(&o.Listen, DefaultListen)
	defaultTo(&o.MaxBody, DefaultMaxBody)
	defaultTo(&o.MaxBuffered, DefaultMaxBuffered)
	defaultTo(&o.MaxInFlight, DefaultMaxInFlight)
	defaultTo(&o.MaxInFlightPerSource, half(o.MaxInFlight))
	defaultTo(&o.MaxUnprovenPerAddress, half(half(o.MaxInFlight)))
	defaultTo(&o.MaxConnections, DefaultMaxConnections)
	defaultTo(&o.MinBodyRate, DefaultMinBodyRate)
	defaultTo(&o.ReadHeaderTimeout, DefaultReadHeaderTimeout)
	defaultTo(&o.ReadTimeout, DefaultReadTimeout)
	defaultTo(&o.WriteTimeout, max(DefaultWriteTimeout, 2*o.ReadTimeout))
	defaultTo(&o.IdleTimeout, DefaultIdleTimeout)
	defaultTo(&o.MaxHeaderBytes, DefaultMaxHeaderBytes)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func defaultTo[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (o Options) validate() error {
	switch {
	case o.Accepter == nil:
		return errors.New("gateway: Accepter is required")
	case o.MaxBody < 0:
		return errors.New("gateway: MaxBody cannot be less than zero")
	case o.MaxBuffered < 0, o.MaxInFlight < 0, o.MaxInFlightPerSource < 0, o.MaxUnprovenPerAddress < 0, o.MaxConnections < 0, o.MinBodyRate < 0:
		return errors.New("gateway: a limit cannot be less than zero")
	case o.MaxHeaderBytes < 0:
		return errors.New("gateway: MaxHeaderBytes cannot be less than zero")
	case o.ReadHeaderTimeout < 0, o.ReadTimeout < 0, o.WriteTimeout < 0, o.IdleTimeout < 0:
		return errors.New("gateway: a time-out cannot be less than zero")
	case o.WriteTimeout <= o.ReadTimeout:
		// Otherwise the answer to a slow body could never be written.
		return errors.New("gateway: WriteTimeout must be longer than ReadTimeout (" + o.ReadTimeout.String() + "), got " + o.WriteTimeout.String())
	}
	return validatePublicURL(o.PublicURL)
}
