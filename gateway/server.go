package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/hooklatch/hooklatch/internal/drain"
	"github.com/hooklatch/hooklatch/internal/failpoint"
	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/strangers"
)

const webhookPath = "/webhooks/:source"

// routes builds the router without middleware. Middleware would unpack a decompression bomb, limit
// the body by the claimed Content-Length, and log query strings.
func (g *Gateway) routes() *echo.Echo {
	e := echo.New()
	e.IPExtractor = g.proxies.ipExtractor()
	e.HTTPErrorHandler = g.fallback
	e.Logger.SetOutput(slog.NewLogLogger(g.opts.Logger.Handler(), slog.LevelWarn).Writer()) // Echo's default is stdout
	// Echo's Any covers only some methods. The provider decides which methods a source
	// accepts, and the gateway must refuse every other one, with Allow.
	e.RouteNotFound(webhookPath, g.receive)
	return e
}

// fallback responds to requests that Echo itself refuses, such as requests to paths without a
// route.
func (g *Gateway) fallback(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	status := http.StatusInternalServerError
	if refused, ok := errors.AsType[*echo.HTTPError](err); ok {
		status = refused.Code
	}
	if status == http.StatusNotFound {
		g.observeUnknownPath(c)
	}
	hangUpOnUnreadBody(c)
	_ = writeError(c, status, http.StatusText(status)) // fails only if the peer has closed the connection
}

func (g *Gateway) newServer() *http.Server {
	return &http.Server{
		Handler:           g.handler(),
		ReadHeaderTimeout: g.opts.ReadHeaderTimeout,
		ReadTimeout:       g.opts.ReadTimeout,
		WriteTimeout:      g.opts.WriteTimeout,
		IdleTimeout:       g.opts.IdleTimeout,
		// net/http adds 4096 bytes to this limit.
		MaxHeaderBytes: int(g.opts.MaxHeader),
		Protocols:      http1(),
		ConnContext:    strangers.ConnContext,
		ConnState:      strangers.Track,
		ErrorLog:       slog.NewLogLogger(serverLog{g.opts.Logger.Handler()}, slog.LevelWarn),
	}
}

func http1() *http.Protocols {
	only := new(http.Protocols)
	only.SetHTTP1(true)
	return only
}

// overHTTP1 returns the configuration with TLS 1.2 or newer and without HTTP/2. One HTTP/2
// connection carries many deliveries, so connection limits would mean little.
func overHTTP1(given *tls.Config) *tls.Config {
	config := given.Clone()
	config.NextProtos = []string{"http/1.1"}
	config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
	return config
}

// serverLog is the handler for net/http's error log. It logs failed TLS handshakes at debug
// level, because any client can cause them and could fill the log.
type serverLog struct{ slog.Handler }

// Handle implements slog.Handler.
func (l serverLog) Handle(ctx context.Context, record slog.Record) error {
	if strings.HasPrefix(record.Message, "http: TLS handshake error") {
		if record.Level = slog.LevelDebug; !l.Enabled(ctx, record.Level) {
			return nil
		}
	}
	return l.Handler.Handle(ctx, record)
}

// Start serves in the background until Stop, on Options.Listener or on the address Options.Listen.
// If Start cannot bind the address, its error names the address.
func (g *Gateway) Start() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.stopped:
		return errors.New("gateway: stopped")
	case g.listener != nil:
		return errors.New("gateway: already started")
	}
	listener := g.opts.Listener
	if listener == nil {
		var err error
		if listener, err = net.Listen("tcp", g.opts.Listen); err != nil {
			return fmt.Errorf("gateway: address %q: %w", g.opts.Listen, err)
		}
	}
	listener = g.connections.Listener(listener)
	if g.opts.TLS != nil {
		listener = tls.NewListener(listener, overHTTP1(g.opts.TLS))
	}
	g.listener = listener
	g.serving.Go(func() {
		// net.ErrClosed: Leave or Stop closes the listener before the server.
		if err := g.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			g.opts.Logger.Error("gateway stopped serving", slog.Any(logkey.Err, err))
		}
	})
	return nil
}

// Addr returns the address that Start bound, or nil before Start.
func (g *Gateway) Addr() net.Addr {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.listener == nil {
		return nil
	}
	return g.listener.Addr()
}

// Leave makes every response of the server that Start runs close its connection. Deliveries are
// accepted as before. Call Leave a few seconds before Stop if load balancers need time to notice
// that this gateway stops. Leave closes Options.Listener, if set, so that new connections wait for
// the next process.
func (g *Gateway) Leave() {
	g.leaving.Store(true)
	if g.opts.Listener != nil {
		g.stopListening()
	}
}

// Stop drains the gateway: it closes the listener and waits until every delivery in flight is
// decided. Requests that still arrive on open connections get 503 with Retry-After and Connection:
// close. If ctx is done first, Stop cuts the remaining connections and returns an error with the
// number of deliveries in flight; committed transactions stay committed. After the last decision,
// Stop cuts connections that do not close within 2 seconds, without an error. Stop may be called
// repeatedly, and before Start.
func (g *Gateway) Stop(ctx context.Context) error {
	g.flights.close()
	g.stopListening()

	err := failpoint.Hit("gateway.draining")
	if err == nil {
		err = g.drainFlights(ctx)
	}
	if err == nil {
		// Shutdown runs after the drain, because it closes the connections of new requests without a
		// response.
		err = g.closeConnections(ctx)
	} else {
		err = fmt.Errorf("drain gateway, deliveries in flight: %d: %w", g.flights.inFlight(), err)
		err = errors.Join(err, ignoreClosed(g.server.Close()))
	}
	g.serving.Wait()
	g.log.flush()
	return errors.Join(err, g.meters.stop())
}

// closeConnections waits until the clients have received the last responses, but at most
// answerTime. It then cuts the remaining connections. A cut is not an error: every delivery is
// decided, and any client can keep a connection open by reading no response, or by never finishing
// a header.
func (g *Gateway) closeConnections(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	err := ignoreClosed(g.server.Shutdown(ctx))
	if err != nil && ctx.Err() != nil {
		return ignoreClosed(g.server.Close())
	}
	return err
}

// answerTime is the time in which senders get the last responses. When a drain has only this time
// left, or half of its time if that is less, it evicts the bodies that are still arriving. Their
// senders then get a response before the drain ends. After the drain, connections stay open for at
// most this time.
const answerTime = 2 * time.Second

// drainFlights waits until the deliveries in flight are decided, including those through Handler.
// Near the end of ctx, it evicts the bodies that are still arriving, because their senders may take
// longer than ctx allows.
func (g *Gateway) drainFlights(ctx context.Context) error {
	if end, limited := ctx.Deadline(); limited {
		left := time.Until(end)
		evict := time.AfterFunc(left-min(answerTime, left/2), g.flights.evictArriving)
		defer evict.Stop()
	}
	return drain.Wait(ctx, &g.flights.underway)
}

func (g *Gateway) stopListening() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = true
	if g.listener != nil {
		_ = g.listener.Close() // an earlier Leave or Stop may have closed it
	}
}

// ignoreClosed drops http.Server's error about a listener that stopListening closed first.
func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
