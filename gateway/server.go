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

	"github.com/labstack/echo/v4"

	"github.com/hooklatch/hooklatch/internal/drain"
	"github.com/hooklatch/hooklatch/internal/failpoint"
	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/strangers"
)

const webhookPath = "/webhooks/:source"

// routes has no middleware: no decompression (a bomb would unpack here), no body limit that
// trusts Content-Length, no request log with query strings.
func (g *Gateway) routes() *echo.Echo {
	e := echo.New()
	e.IPExtractor = g.proxies.ipExtractor()
	e.HTTPErrorHandler = g.fallback
	e.Logger.SetOutput(slog.NewLogLogger(g.opts.Logger.Handler(), slog.LevelWarn).Writer()) // Echo's default is stdout
	// Any covers only some methods. The provider decides which methods a source accepts,
	// and the gateway must refuse every other one, with Allow.
	e.RouteNotFound(webhookPath, g.receive)
	return e
}

// fallback answers requests that Echo itself refuses: paths without a route.
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
	_ = writeError(c, status, http.StatusText(status)) // the peer has closed the connection
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

// overHTTP1 returns the configuration without HTTP/2, in which one connection carries many
// deliveries and connection limits would mean little.
func overHTTP1(given *tls.Config) *tls.Config {
	config := given.Clone()
	config.NextProtos = []string{"http/1.1"}
	config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
	return config
}

// serverLog is the log of net/http. Failed handshakes, with which a stranger could fill it,
// are logged at debug level.
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

// Start binds Options.Listen and serves until Stop. The error names the address.
func (g *Gateway) Start() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.stopped:
		return errors.New("gateway: stopped")
	case g.listener != nil:
		return errors.New("gateway: already started")
	}
	listener, err := net.Listen("tcp", g.opts.Listen)
	if err != nil {
		return fmt.Errorf("gateway: address %q: %w", g.opts.Listen, err)
	}
	listener = g.connections.Listener(listener)
	if g.opts.TLS != nil {
		listener = tls.NewListener(listener, overHTTP1(g.opts.TLS))
	}
	g.listener = listener
	g.serving.Go(func() {
		// net.ErrClosed: Stop closes the listener before the server.
		if err := g.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			g.opts.Logger.Error("gateway stopped serving", slog.Any(logkey.Err, err))
		}
	})
	return nil
}

// Addr returns the address that Start bound, or nil before.
func (g *Gateway) Addr() net.Addr {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.listener == nil {
		return nil
	}
	return g.listener.Addr()
}

// Stop drains: it closes the listener, answers 503 with Retry-After and Connection: close
// to requests that still arrive on open connections, and waits for the deliveries in
// flight. If ctx is done first, it cuts their connections and returns an error with their
// number; what their transactions committed stays committed. It may be called again, and
// before Start.
func (g *Gateway) Stop(ctx context.Context) error {
	g.flights.close()
	g.stopListening()

	// Shutdown must wait: it closes the connections of new requests without an answer.
	err := failpoint.Hit("gateway.draining")
	if err == nil {
		err = drain.Wait(ctx, &g.flights.underway) // including those that came through Handler
	}
	if err == nil {
		err = ignoreClosed(g.server.Shutdown(ctx))
	}
	if err != nil {
		err = fmt.Errorf("drain gateway, %d deliveries in flight: %w", g.flights.inFlight(), err)
		err = errors.Join(err, ignoreClosed(g.server.Close()))
	}
	g.serving.Wait()
	g.log.flush()
	return errors.Join(err, g.meters.stop())
}

func (g *Gateway) stopListening() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = true
	if g.listener != nil {
		_ = g.listener.Close() // an earlier Stop may have closed it
	}
}

// ignoreClosed drops the error of http.Server about a listener that stopListening closed
// first.
func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
