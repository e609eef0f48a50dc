package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/admin"
	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/logkey"
)

// How often a database that is away is tried again.
const (
	firstRetry = 500 * time.Millisecond
	maxRetry   = 5 * time.Second
)

// gate refuses deliveries until the database was seen migrated: before, it is
// as good as away.
type gate struct {
	accepter gateway.Accepter
	open     atomic.Bool
}

// Accept implements gateway.Accepter.
func (g *gate) Accept(ctx context.Context, d outbox.Delivery) (outbox.Acceptance, error) {
	if !g.open.Load() {
		if d.Release != nil {
			d.Release()
		}
		return outbox.Acceptance{}, fmt.Errorf("%w: not seen migrated yet", outbox.ErrUnavailable)
	}
	return g.accepter.Accept(ctx, d)
}

// prepare waits for the database, checks its schema and starts the worker. What
// waiting cannot cure goes to failed.
func (a *App) prepare(ctx context.Context) {
	wait := firstRetry
	for waited := false; ; waited = true {
		err := a.prepareOnce(ctx)
		switch {
		case err == nil:
			if waited {
				a.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "the database is back")
			}
			close(a.prepared)
			return
		case ctx.Err() != nil:
			return
		case !Passing(err):
			a.failed <- err
			return
		}
		a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "waiting for the database", slog.Any(logkey.Err, err), slog.Float64(logkey.Duration, wait.Seconds()))
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		wait = min(2*wait, maxRetry)
	}
}

func (a *App) prepareOnce(ctx context.Context) error {
	if a.opts.Migrate {
		if _, err := a.migrator.Up(ctx); err != nil {
			return err
		}
	}
	if err := a.migrator.Validate(ctx); err != nil {
		return err
	}
	if a.gate != nil {
		a.gate.open.Store(true)
	}
	if a.worker == nil {
		return nil
	}
	if err := a.worker.Start(ctx); err != nil {
		return err
	}
	a.warnOfUnserved(ctx, a.config.Load())
	return nil
}

// Ready tells whether this process can do its work: it was prepared, it does
// not drain, and the database commits.
func (a *App) Ready(ctx context.Context) error {
	if a.draining.Load() {
		return errors.New("shutting down")
	}
	select {
	case <-a.prepared:
		return a.outbox.CanCommit(ctx)
	default:
	}
	if err := a.pools.accept.Ping(ctx); err != nil {
		return fmt.Errorf("%w: %w", admin.ErrStarting, err)
	}
	return fmt.Errorf("%w: the database has not been seen migrated yet", admin.ErrStarting)
}

// passing are SQLSTATEs, and classes of them, of a server that will be back:
// connection exceptions, too many connections, shutting down, starting up,
// read-only in the middle of a failover, a lost race. A wrong password (28), a
// database that is not there (3D) and a missing right (42501) do not go
// away by themselves.
var passing = []string{"08", "53", "57", "25006", "40"}

// Passing tells whether a database that answered err may be fine a moment later.
func Passing(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return slices.ContainsFunc(passing, func(prefix string) bool { return strings.HasPrefix(pg.Code, prefix) })
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
}
