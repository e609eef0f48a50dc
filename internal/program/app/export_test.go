package app

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/worker/destination"
)

// AdminHandler returns the admin listener's handler.
func (a *App) AdminHandler() http.Handler { return a.admin.Handler() }

// CellsAway exports cellsAway.
func (a *App) CellsAway(ctx context.Context, reporter string) []string {
	return a.cellsAway(ctx, reporter)
}

// StopPatiently stops the quarantine and the counts without a time limit, and then calls Stop. Stop
// alone gives each of them only a second or two, and a slow database may need longer.
func (a *App) StopPatiently(ctx context.Context) (err error) {
	for _, one := range a.all() {
		if one.keeper != nil {
			err = errors.Join(err, one.keeper.Stop(ctx))
		}
		err = errors.Join(err, one.minutes.Stop(ctx))
	}
	return errors.Join(err, a.Stop(ctx))
}

// StopWorkers stops the workers of all cells. Only ctx limits the wait, even if a cell's database
// is unavailable.
func (a *App) StopWorkers(ctx context.Context) (err error) {
	for _, one := range a.all() {
		err = errors.Join(err, one.worker.Stop(ctx))
	}
	return err
}

// HoldAcceptPool acquires all connections of the pool that accepts deliveries. It returns a
// function that gives them back.
func (a *App) HoldAcceptPool(ctx context.Context) (giveBack func(), err error) {
	var held []*pgxpool.Conn
	for range a.pools.accept.Config().MaxConns {
		conn, err := a.pools.accept.Acquire(ctx)
		if err != nil {
			return nil, err
		}
		held = append(held, conn)
	}
	return func() {
		for _, conn := range held {
			conn.Release()
		}
	}, nil
}

// Beat exports beat.
func Beat(ctx context.Context, address string) error { return beat(address)(ctx) }

// AlarmRetry exports alarmRetry.
func AlarmRetry(s destination.Schedule) destination.Schedule { return alarmRetry(s) }

// DeafChecks is the number of checks after which a deaf pool needs a restart.
const DeafChecks = deafChecks

// Listen checks the pools once, with the test's time limits. Queries through the named
// pool get the short limit in the parameter ask. All other limits are the one in the parameter
// dial, because on a loaded machine the other pools may need longer for one connection.
func (a *App) Listen(ctx context.Context, pool string, ask, dial time.Duration) {
	a.listening.Lock()
	for _, h := range a.hearings {
		h.askTimeout, h.dialTimeout = dial, dial
		if h.name == pool {
			h.askTimeout = ask
		}
	}
	a.listening.Unlock()
	a.listen(ctx)
}

// FewestConnsToWork is the minimum size of the working pool if database.max_conns is not set.
const FewestConnsToWork = fewestConnsToWork

// WorkPoolIsExhausted reports whether all connections of the working pool are in use.
func (a *App) WorkPoolIsExhausted() bool { return (&hearing{pool: a.pools.work}).exhausted() }

// WhileAllAnswer returns a heartbeat that is sent only while all other cells can do their work.
func (a *App) WhileAllAnswer(send func(context.Context) error) func(context.Context) error {
	return a.whileAllAnswer(send)
}

// Announce exports announce.
func (a *App) Announce(ctx context.Context) error { return a.announce(ctx) }

// AnnouncedIsUsed reports whether each cell of a gateway uses the configuration that it has announced.
func (a *App) AnnouncedIsUsed() bool {
	for _, one := range a.all() {
		one.reload.Lock()
		next := one.gatewayOf(one.config.Load())
		used := one.told == nil || one.told.Hash == next.Hash && slices.Equal(one.told.Sources, next.Sources)
		one.reload.Unlock()
		if !used {
			return false
		}
	}
	return true
}

// RereadFiles exports rereadFiles.
func (a *App) RereadFiles(ctx context.Context) error { return a.rereadFiles(ctx) }

// SetLookup replaces the name servers. Call it before the first connection.
func (s *Servers) SetLookup(with pgconn.LookupFunc) { s.names.lookup = with }
