// Package contender serves the systems against which Hooklatch is measured. One is a server that
// only verifies and answers. The other is the pattern that a good engineer would write first. For
// each event, one transaction inserts a dedup row and a River job.
package contender

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// DatabaseEnv is the environment variable with the database URL. On a command line, other users
// could read the password.
const DatabaseEnv = "HOOKSTORM_BENCH_DATABASE"

const (
	// conns is the number of connections in the pool. Of the pool sizes tried, from 8 to 64, the
	// server accepted the most events with this one.
	conns = 32
	// maxBody is the largest accepted body, in bytes.
	maxBody = 1 << 20
	// stopTimeout bounds the wait for current requests at shutdown, and for the header of each
	// request.
	stopTimeout = 5 * time.Second
)

// Options configure Serve.
type Options struct {
	// Listen is the address, host:port. Required.
	Listen string
	// DatabaseURL is the database for events. If empty, the server only verifies and answers
	// events. No gateway on this machine can be faster than such a server.
	DatabaseURL secret.Value
	// Logger gets a line for each stored event, each duplicate, and each event that could not be
	// stored. Required.
	Logger *slog.Logger
}

// Serve accepts events until ctx is done.
func Serve(ctx context.Context, o Options) error {
	s := &server{logger: o.Logger}
	var err error
	if s.provider, err = catalog.New(load.Provider, provider.Options{}); err != nil {
		return fmt.Errorf("create the provider: %w", err)
	}
	if !o.DatabaseURL.IsZero() {
		config, err := pgxpool.ParseConfig(o.DatabaseURL.Reveal())
		if err != nil {
			return errors.New("the URL of the database cannot be read") // the error would quote the URL
		}
		config.MaxConns = conns
		pool, err := pgxpool.NewWithConfig(ctx, config)
		if err != nil {
			return fmt.Errorf("connect: %w", err)
		}
		defer pool.Close()
		if s.store, err = newStore(pool); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	served := &http.Server{Handler: s.routes(), ReadHeaderTimeout: stopTimeout}
	ended := make(chan error, 1)
	go func() { ended <- served.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return served.Shutdown(stopping)
}

// server uses Echo as the gateway does, without the gateway's limits.
type server struct {
	provider *provider.Provider
	store    *store // if nil, nothing is stored
	logger   *slog.Logger
}

func (s *server) routes() *echo.Echo {
	e := echo.New()
	e.POST("/webhooks/"+load.Source, s.receive)
	e.GET("/readyz", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	return e
}

func (s *server) receive(c echo.Context) error {
	began := time.Now()
	r := c.Request()
	body, err := io.ReadAll(http.MaxBytesReader(c.Response(), r.Body, maxBody))
	if err != nil {
		return echo.NewHTTPError(http.StatusRequestEntityTooLarge)
	}
	request := &provider.Request{Method: r.Method, URL: r.URL, Header: r.Header, Body: body, Client: netip.Prefix{}}
	if _, err := s.provider.Verify(r.Context(), request, []secret.Value{load.Secret()}, began); err != nil {
		return echo.NewHTTPError(http.StatusUnauthorized)
	}
	if s.store == nil {
		return c.JSON(http.StatusOK, answer{Status: "ok"})
	}
	events, err := s.provider.Events(request)
	if err != nil {
		return echo.NewHTTPError(http.StatusBadRequest, err.Error())
	}
	for _, event := range events {
		status, err := s.store.accept(r.Context(), event, body)
		if err != nil {
			s.logger.LogAttrs(r.Context(), slog.LevelError, "event not stored", slog.String(logkey.Err, err.Error()))
			return echo.NewHTTPError(http.StatusServiceUnavailable)
		}
		s.logger.LogAttrs(r.Context(), slog.LevelInfo, "event accepted", slog.String(logkey.Source, load.Source), slog.String(logkey.EventID, event.ID),
			slog.String(logkey.EventType, event.Type), slog.String(logkey.Status, status), slog.Float64(logkey.Duration, time.Since(began).Seconds()))
	}
	return c.JSON(http.StatusOK, answer{Status: "accepted"})
}

// answer is the response to the sender.
type answer struct {
	Status string `json:"status"`
}
