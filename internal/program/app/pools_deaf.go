package app

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/logkey"
)

const (
	// hearEvery is the interval at which the pools are checked.
	hearEvery = 5 * time.Second
	// hearTimeout limits the query through the pool and, if that query fails, separately the new
	// connection with its query.
	hearTimeout = 2 * time.Second
	// deafChecks is the number of checks in 2 minutes. If a pool is deaf in so many consecutive
	// checks, Alive returns an error.
	deafChecks = int(2 * time.Minute / hearEvery)
)

//go:embed long_sessions.sql
var longSessions string

// hearing detects a deaf pool: Postgres answers a new connection, but the pool answers nothing.
// While Postgres is unavailable, or executes a statement on every connection, no pool counts as
// deaf, because a restart would not help.
type hearing struct {
	name string
	pool *pgxpool.Pool
	// askTimeout limits a query through the pool. dialTimeout limits a new connection with its
	// query.
	askTimeout, dialTimeout time.Duration

	checked  time.Time // time of the last check
	acquired int64     // connections that the pool had handed out by the last check
	deaf     int       // consecutive checks in which the pool was deaf
}

// listen checks the pool, and replaces the connections of a deaf pool. Like [part.look], it counts
// checks instead of measuring time, so that an hour of machine sleep changes nothing.
func (h *hearing) listen(ctx context.Context) {
	acquired, checked := h.acquired, h.checked
	err := h.ask(ctx)
	h.acquired, h.checked = h.pool.Stat().AcquireCount(), time.Now()
	unanswered := errors.Is(err, context.DeadlineExceeded) && h.exhausted()
	if err == nil || unanswered && h.acquired > acquired {
		h.deaf = 0
		return
	}
	// Sessions count if they have been busy for half of the time since the last check. The whole
	// time would miss some: a transaction begins a moment after its connection is acquired.
	long, err := h.dial(ctx, time.Since(checked)/2)
	if err != nil || unanswered && long >= int(h.pool.Config().MaxConns) {
		h.deaf = 0
		return
	}
	h.deaf++
	h.pool.Reset()
}

// ask sends a query through the pool.
func (h *hearing) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, h.askTimeout)
	defer cancel()
	return h.pool.Ping(ctx)
}

// exhausted reports whether all connections are in use.
func (h *hearing) exhausted() bool {
	stat := h.pool.Stat()
	return stat.AcquiredConns() == stat.MaxConns()
}

// dial opens a separate connection with the pool's settings. It counts the sessions that have been
// in one transaction or statement for longer than the given duration.
func (h *hearing) dial(ctx context.Context, duration time.Duration) (long int, err error) {
	ctx, cancel := context.WithTimeout(ctx, h.dialTimeout)
	defer cancel()
	config := h.pool.Config()
	if config.BeforeConnect != nil {
		if err := config.BeforeConnect(ctx, config.ConnConfig); err != nil {
			return 0, err
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return 0, err
	}
	err = conn.QueryRow(ctx, longSessions, duration.Seconds()).Scan(&long)
	return long, errors.Join(err, conn.Close(ctx))
}

// hearings returns a check for each pool without which the process cannot work.
func (p pools) hearings(gateway, worker bool) (all []*hearing) {
	add := func(name string, pool *pgxpool.Pool) {
		all = append(all, &hearing{name: name, pool: pool, askTimeout: hearTimeout, dialTimeout: hearTimeout, checked: time.Now()})
	}
	if gateway {
		add("accept", p.accept)
	}
	if worker {
		add("work", p.work)
		if p.direct != p.work {
			add("direct", p.direct)
		}
	}
	return all
}

// watchHearing checks the pools until ctx is done.
func (a *App) watchHearing(ctx context.Context) {
	ticker := time.NewTicker(hearEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			a.listen(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// listen checks every pool once.
func (a *App) listen(ctx context.Context) {
	a.listening.Lock()
	defer a.listening.Unlock()
	for _, h := range a.hearings {
		before := h.deaf
		h.listen(ctx)
		attrs := []slog.Attr{slog.String(logkey.Pool, h.name)}
		switch {
		case h.deaf == 1:
			a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "Postgres answers new connections, but not the pool's: the process replaces the pool's connections", attrs...)
		case h.deaf == deafChecks:
			a.opts.Logger.LogAttrs(ctx, slog.LevelError, "replacing the connections of the pool did not help: the process needs a restart", attrs...)
		case h.deaf == 0 && before > 0:
			a.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "the pool works again", attrs...)
		}
	}
	a.deaf.Store(a.deafness())
}

// deafness returns an error if a pool has been deaf for 2 minutes.
func (a *App) deafness() *error {
	for _, h := range a.hearings {
		if h.deaf >= deafChecks {
			err := fmt.Errorf("the pool %s has not responded for %s, although Postgres does: restart the process", h.name, time.Duration(h.deaf)*hearEvery)
			return &err
		}
	}
	return nil
}

// Alive returns an error if a pool has been deaf for 2 minutes, because only a restart of the
// process can then help. It returns nil while the database is unavailable.
func (a *App) Alive() error {
	for _, one := range a.all() {
		if err := one.deaf.Load(); err != nil {
			return *err
		}
	}
	return nil
}
