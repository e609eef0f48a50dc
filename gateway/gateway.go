// Package gateway receives webhook deliveries over HTTP, verifies their senders, and answers
// 2xx only to deliveries that it has committed.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/hooklatch/hooklatch/internal/strangers"
	"github.com/hooklatch/hooklatch/outbox"
)

// Accepter commits a delivery. When Accept returns without an error, every event of the delivery is
// committed, except events that the Acceptance reports as refused. Accept calls the delivery's
// Release when it no longer holds the body. The gateway calls Release too, unless the sender has
// hung up or Accept returned outbox.ErrUnavailable. *outbox.Outbox implements Accepter.
type Accepter interface {
	Accept(ctx context.Context, d outbox.Delivery) (outbox.Acceptance, error)
}

var _ Accepter = (*outbox.Outbox)(nil)

// Gateway is the HTTP server for all sources. It is safe for concurrent use, and Start may be
// called only once.
type Gateway struct {
	opts        Options
	echo        *echo.Echo
	server      *http.Server
	proxies     proxies
	sources     atomic.Pointer[sourceSet]
	connections *strangers.Connections
	flights     *flights
	memory      *memory
	// acquaintances holds the addresses from which deliveries were accepted, for sources
	// without a quarantine and for sources in cells: see knowsOrigin and knowsPeer.
	acquaintances *strangers.Known[origin]
	meters        *meters
	tracer        trace.Tracer // nil if spans are discarded
	log           *deliveryLog
	progress      progress
	nowhere       tally // counts requests that belong to no source
	leaving       atomic.Bool

	mu       sync.Mutex // guards listener and stopped
	listener net.Listener
	stopped  bool
	serving  sync.WaitGroup
}

// New checks opts and returns a Gateway that does not listen yet.
func New(opts Options) (*Gateway, error) {
	opts = opts.WithDefaults().withServices()
	if opts.Accepter == nil {
		return nil, errors.New("gateway: Accepter is required")
	}
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	if err := validatePublicURL(opts.PublicURL); err != nil {
		return nil, err
	}
	g := &Gateway{
		opts:    opts,
		proxies: opts.TrustedProxies,
		flights: newFlights(flightLimits{
			arriving: opts.MaxArriving, all: opts.MaxInFlight, perSource: opts.MaxInFlightPerSource, perCell: half(opts.MaxInFlight), perAddress: opts.MaxUnprovenPerAddress,
		}),
		memory:  newMemory(int64(opts.MaxBuffered)),
		log:     newDeliveryLog(opts.Logger, opts.Now),
		nowhere: newTally(opts.Minutes, noSource, nil),
	}
	g.acquaintances = newAcquaintances()
	g.connections = strangers.NewConnections(strangers.ConnectionOptions{
		Max: opts.MaxConnections, Known: g.knowsPeer, Trusted: g.proxies.contain, Refused: g.observeUnread,
	})
	if _, silent := opts.TracerProvider.(noop.TracerProvider); !silent {
		g.tracer = opts.TracerProvider.Tracer(scopeName)
	}
	set, err := newSourceSet(opts.Sources, g.opts)
	if err != nil {
		return nil, err
	}
	meters, err := newMeters(opts.MeterProvider, gauges{
		inFlight: g.flights.inFlight, buffered: g.memory.reserved, connections: g.connections.Open, refused: g.connections.Refused,
	})
	if err != nil {
		return nil, err
	}
	g.meters = meters
	g.use(set)
	g.echo = g.routes()
	g.server = g.newServer()
	return g, nil
}

// Handler returns the gateway as a handler for the caller's own server. ReadTimeout and MinBodyRate
// then limit the body, if that server supports read deadlines. The other timeouts, MaxHeader,
// MaxConnections and TLS apply only to the server that Start runs. Stop waits for the deliveries
// that arrive through either server.
func (g *Gateway) Handler() http.Handler { return g.echo }

// SetSources replaces all sources atomically. Deliveries in flight keep their old sources. If
// SetSources returns an error, all old sources stay.
func (g *Gateway) SetSources(sources []Source) error {
	set, err := newSourceSet(sources, g.opts)
	if err != nil {
		return err
	}
	g.use(set)
	return nil
}

func (g *Gateway) use(set *sourceSet) {
	for _, src := range *set {
		g.meters.begin(src.Name)
	}
	g.sources.Store(set)
}
