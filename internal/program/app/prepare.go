package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/admin"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/schema"
)

// gate refuses deliveries until the database is known to be migrated. Before that, the database
// counts as unavailable.
type gate struct {
	accepter gateway.Accepter
	patience time.Duration // the maximum time that a delivery waits at the gate
	opened   chan struct{}
	opening  sync.Once
}

func newGate(accepter gateway.Accepter, patience time.Duration) *gate {
	return &gate{accepter: accepter, patience: patience, opened: make(chan struct{})}
}

// open lets deliveries pass. It may be called again.
func (g *gate) open() { g.opening.Do(func() { close(g.opened) }) }

// Accept implements gateway.Accepter.
func (g *gate) Accept(ctx context.Context, d outbox.Delivery) (outbox.Acceptance, error) {
	if !g.passes(ctx) {
		if d.Release != nil {
			d.Release()
		}
		return outbox.Acceptance{}, fmt.Errorf("%w: the database may not be migrated yet", outbox.ErrUnavailable)
	}
	return g.accepter.Accept(ctx, d)
}

// passes reports whether the gate is open. If the gate is closed, passes first waits for at most
// patience. A process that has just started usually opens the gate within that time, which is the
// maximum time that a delivery waits for its commit.
func (g *gate) passes(ctx context.Context) bool {
	select {
	case <-g.opened:
		return true
	default:
	}
	timer := time.NewTimer(g.patience)
	defer timer.Stop()
	select {
	case <-g.opened:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// prepare waits for the database, applies or checks the migrations, lets deliveries pass the gate
// and starts the worker. It returns false if ctx is done first. After an error that waiting cannot
// fix, it sends the error to failed and returns false.
func (a *App) prepare(ctx context.Context) (done bool) {
	lacks := ""
	for pause := range (retry.Pauses{First: 500 * time.Millisecond, Max: 5 * time.Second}).Until(ctx) {
		err := a.prepareOnce(ctx)
		switch {
		case err == nil:
			switch lacks {
			case "the database":
				a.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "the database is back")
			case "migrations":
				a.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "the migrations are applied")
			}
			close(a.prepared)
			return true
		case ctx.Err() != nil:
			return false
		case a.opts.AwaitMigrations && errors.Is(err, schema.ErrPending):
			lacks = "migrations"
		case sqlstate.Away(err):
			lacks = "the database"
		default:
			if a.cell != config.MainCell {
				err = fmt.Errorf("cell %s: %w", a.cell, err)
			}
			a.failed <- err
			return false
		}
		a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "waiting for "+lacks, slog.Any(logkey.Err, err), slog.Float64(logkey.Duration, pause.Seconds()))
	}
	return false
}

func (a *App) prepareOnce(ctx context.Context) error {
	if err := a.checkServer(ctx); err != nil {
		return err
	}
	if a.opts.Migrate || a.kind() == kindServe && a.opts.Config.Database.Migrate == config.MigrateOnStart {
		if _, err := a.migrator.Up(ctx); err != nil {
			return err
		}
	}
	if err := a.migrator.Validate(ctx); err != nil {
		return err
	}
	// The announcement must precede accepting and dispatching: see fleet.Announce.
	if err := a.announce(ctx); err != nil {
		return err
	}
	if a.gate != nil {
		a.gate.open()
		a.keeper.Start()
		a.hurryBackfill(ctx)
	}
	if a.worker != nil {
		if err := a.worker.Start(ctx); err != nil {
			return err
		}
		a.warnOfUnserved(ctx, a.config.Load())
	}
	a.gauges.Start(ctx)
	return nil
}

// Ready returns an error unless this process can do its work. The process must be prepared and not
// draining. Its configuration must not lack sources or routes, unless allow_empty is set. Gateway
// and worker must make progress, and the database must commit. For a process with several cells,
// see readyCells.
func (a *App) Ready(ctx context.Context) error {
	if a.draining.Load() {
		return errors.New("shutting down")
	}
	if len(a.cells) > 0 {
		return a.readyCells(ctx)
	}
	return a.readyAlone(ctx)
}

// readyAlone is like Ready, but only for the cell of this App.
func (a *App) readyAlone(ctx context.Context) error {
	select {
	case <-a.prepared:
		if lacks := a.lacks(a.config.Load()); lacks != "" {
			return errors.New(lacks)
		}
		if err := a.progress.stalled(); err != nil {
			return err
		}
		return a.outbox.CanCommit(ctx)
	default:
	}
	if err := a.pools.accept.Ping(ctx); err != nil {
		return fmt.Errorf("%w: %w", admin.ErrStarting, err)
	}
	return fmt.Errorf("%w: the database may not be migrated yet", admin.ErrStarting)
}
