package app

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/worker"
)

const (
	// connsToAccept is enough for two committers, four lanes for batches that wait for a lock,
	// duplicate counting and the /readyz probe.
	connsToAccept = 8
	// connsToRead is the number of connections for the console and other operator reads.
	connsToRead = 4
	// connsToQuarantine is the number of connections for the quarantine. It is small because
	// untrusted clients decide how much is written to the quarantine.
	connsToQuarantine = 1
	// fewestConnsToWork is the minimum size of the working pool if database.max_conns is not set.
	// Connections are opened on demand.
	fewestConnsToWork = 24
)

// pools contains the connection pools of an App. Slow work has separate connections, so that
// nothing else waits for it.
type pools struct {
	accept     *pgxpool.Pool // accepted deliveries (T1)
	quarantine *pgxpool.Pool // refused deliveries
	work       *pgxpool.Pool // dispatch and effects
	read       *pgxpool.Pool // console and other reads
	standby    *pgxpool.Pool // lists, on the standby; nil without database.read_url
	direct     *pgxpool.Pool // River, handlers, migrations: bypasses a transaction pooler; often equals work
}

func (a *App) openPools(ctx context.Context) error {
	sizes, err := a.opts.poolSizes()
	if err != nil {
		return err
	}
	given := a.opts.Config.Database
	known := NewServers(schema.Name(given.Schema))
	open := func(url secret.Value, conns int, login func() secret.Value, pooled bool) *pgxpool.Pool {
		if err != nil {
			return nil
		}
		var pool *pgxpool.Pool
		if pool, err = NewPool(ctx, PoolOptions{URL: url, MaxConns: conns, ApplicationName: "hooklatch", Login: login, Pooled: pooled, Servers: known}); err != nil {
			return nil
		}
		a.teardown.AddMinor("connections", poolTimeout, unbounded(pool.Close))
		return pool
	}
	url, login := given.URL, func() secret.Value { return a.config.Load().Database.URL }
	bypassed := !given.DirectURL.IsZero()
	pooled := bypassed || !given.Listens()
	a.pools.read = open(url, sizes.read, login, pooled)
	a.pools.work = a.pools.read // a process without a worker needs no pool for work
	if a.opts.Worker {
		a.pools.work = open(url, sizes.work, login, pooled)
	}
	a.pools.accept = a.pools.work
	if a.opts.Gateway {
		a.pools.accept = open(url, sizes.accept, login, pooled)
		a.pools.quarantine = open(url, connsToQuarantine, login, pooled)
	}
	a.pools.direct = a.pools.work
	if bypassed {
		a.pools.direct = open(given.DirectURL, max(sizes.work, connsToRead), func() secret.Value { return a.config.Load().Database.DirectURL }, false)
	}
	if err != nil || given.ReadURL.IsZero() {
		return err
	}
	a.pools.standby, err = NewPool(ctx, PoolOptions{
		URL: given.ReadURL, MaxConns: connsToRead, ApplicationName: "hooklatch", ReadOnly: true,
		Login: func() secret.Value { return a.config.Load().Database.ReadURL },
	})
	if err != nil {
		return err
	}
	a.teardown.AddMinor("connections", poolTimeout, unbounded(a.pools.standby.Close))
	return nil
}

// connections returns the maximum number of connections of all pools together.
func (p pools) connections() (n int) {
	seen := map[*pgxpool.Pool]bool{nil: true}
	for _, pool := range []*pgxpool.Pool{p.accept, p.quarantine, p.work, p.read, p.standby, p.direct} {
		if !seen[pool] {
			n += int(pool.Config().MaxConns)
		}
		seen[pool] = true
	}
	return n
}

// poolSizes contains the pool sizes that depend on database.max_conns.
type poolSizes struct{ accept, work, read int }

// poolSizes divides database.max_conns among the pools, or computes the sizes if max_conns is 0.
// For a worker, poolSizes refuses a max_conns that is too small for all work that holds connections
// at the same time: connections would run out exactly when effects are slow.
func (o Options) poolSizes() (poolSizes, error) {
	sizes := poolSizes{read: connsToRead}
	need := connsToRead
	if o.Gateway {
		sizes.accept = connsToAccept
		need += connsToAccept + connsToQuarantine
	}
	given := o.Config.Database.MaxConns
	if !o.Worker {
		if given > 0 && given < need { // without a worker, fewer connections only slow the process down
			sizes.read = max(given/3, 1)
			sizes.accept = max(given-sizes.read-connsToQuarantine, 1)
		}
		return sizes, nil
	}
	sql, handlers := connsInDestinations(o.Config), connsInHandlers(o.Config)
	working := worker.ConnsNeeded(sql, handlers)
	need += working
	if given > 0 && given < need {
		command, accepting := "worker", ""
		if o.Gateway {
			command, accepting = "serve", fmt.Sprintf("%d to accept, %d for the quarantine, ", connsToAccept, connsToQuarantine)
		}
		return poolSizes{}, o.Config.Problem("database.max_conns", fmt.Sprintf(
			"%d is too few: `hooklatch %s` needs %d connections: %s%d for the console and other reads, and %d for the worker "+
				"(%d for sql destinations, %d for handlers, %d for the rest); set max_conns: %d, or omit it, and the program computes the number",
			given, command, need, accepting, connsToRead, working, sql, handlers, worker.ConnsNeeded(0, 0), need))
	}
	sizes.work = max(working, fewestConnsToWork)
	if given > 0 {
		sizes.work = given - sizes.accept - sizes.read
		if o.Gateway {
			sizes.work -= connsToQuarantine
		}
	}
	return sizes, nil
}

// CheckConns returns a problem if database.max_conns is too small for a worker. If it is too small
// only for a worker and a gateway in one process, CheckConns returns a warning instead. Both are
// config.Problems.
func CheckConns(cfg *config.Config) (problem, warning error) {
	_, alone := Options{Config: cfg, Worker: true}.poolSizes()
	_, together := Options{Config: cfg, Gateway: true, Worker: true}.poolSizes()
	if alone != nil {
		return alone, nil
	}
	return nil, together
}

// connsInDestinations returns the maximum number of simultaneous attempts that each hold a
// connection: the attempts of sql destinations.
func connsInDestinations(cfg *config.Config) int {
	n := 0
	for _, d := range cfg.Destinations {
		if d.SQL != nil {
			n += d.Concurrency
		}
	}
	return n
}

// connsInHandlers returns the maximum number of concurrent handlers.
func connsInHandlers(cfg *config.Config) int {
	for _, s := range cfg.Sources {
		if s.Handlers {
			return cfg.Worker.HandlerWorkers
		}
	}
	return 0
}
