package measure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/metric"

	"github.com/hooklatch/hooklatch/internal/drain"
	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/schema"
)

const (
	// tryEvery is the interval at which a process tries to become the collector, and at which the
	// collector reads.
	tryEvery = 10 * time.Second
	// lease is the time for which a process is the only collector after it takes or extends the
	// lease. Another process takes over within tryEvery after the lease ends.
	lease = 15 * time.Second
	// readTimeout limits one reading. It must be shorter than the lease.
	readTimeout = 4 * time.Second
	// standingEvery is the interval at which slowly changing values are read.
	standingEvery = time.Minute
	// restFor is a collector's pause after a reading, as a multiple of the reading's duration.
	restFor = 20
)

// CollectorOptions configure a Collector.
type CollectorOptions struct {
	// Pool connects to the database. Required.
	Pool *pgxpool.Pool
	// Schema is the Postgres schema of the tables. Defaults to schema.Default.
	Schema schema.Name
	// Logger defaults to a logger that discards everything.
	Logger *slog.Logger
	// SizeBudget is the size budget of the tables, in bytes. 0: not configured.
	SizeBudget int64
	// Counts records the amount of waiting work, once a minute. Nil: the amount is not recorded.
	Counts *Counts
	// MeterProvider exports the collected values. Required.
	MeterProvider metric.MeterProvider
}

// Collector reads the gauges of waiting work for the metrics while its process holds the lease.
// Only one process holds the lease at a time. A Collector is used once: NewCollector, Start, Stop.
type Collector struct {
	*Reader

	holder   uuid.UUID
	logger   *slog.Logger
	counts   *Counts
	exported metric.Registration
	every    time.Duration
	lease    time.Duration

	current atomic.Pointer[exported]
	cancel  context.CancelFunc // nil before Start
	running sync.WaitGroup
	stop    sync.Once
}

// exported is the snapshot that the metrics show.
type exported struct {
	*Snapshot

	until time.Time // time until which the metrics show the snapshot, by the monotonic clock
}

// NewCollector returns a Collector that exports nothing yet.
func NewCollector(opts CollectorOptions) (*Collector, error) {
	if opts.MeterProvider == nil {
		return nil, errors.New("measure: MeterProvider is required")
	}
	reader, err := NewReader(opts.Pool, opts.Schema)
	if err != nil {
		return nil, err
	}
	c := &Collector{Reader: reader, holder: uuid.New(), logger: opts.Logger, counts: opts.Counts, every: tryEvery, lease: lease}
	if c.logger == nil {
		c.logger = slog.New(slog.DiscardHandler)
	}
	if c.exported, err = export(opts.MeterProvider, opts.SizeBudget, c.show); err != nil {
		return nil, fmt.Errorf("measure: %w", err)
	}
	return c, nil
}

// Start lets the process collect while no other process does. The database must be migrated.
func (c *Collector) Start(ctx context.Context) {
	ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	c.running.Go(func() { c.run(ctx) })
}

// Stop stops collecting and lets another process take over immediately. It may be called again, and
// before Start. Stop returns an error if ctx ends first.
func (c *Collector) Stop(ctx context.Context) error {
	var err error
	c.stop.Do(func() {
		if c.cancel != nil {
			c.cancel()
		}
		err = drain.Wait(ctx, &c.running)
		c.current.Store(nil)
		_ = c.exported.Unregister()
	})
	return err
}

// show returns the current snapshot, or nil if this process is not the collector.
func (c *Collector) show() *Snapshot {
	if now := c.current.Load(); now != nil && time.Now().Before(now.until) {
		return now.Snapshot
	}
	return nil
}

// run tries to become the collector, and reads while it is the collector, until ctx is done.
func (c *Collector) run(ctx context.Context) {
	tick := time.NewTicker(c.every)
	defer tick.Stop()
	var turn turn
	for {
		err := c.take(ctx, &turn)
		if ctx.Err() != nil {
			c.release(context.WithoutCancel(ctx))
			return
		}
		turn.tell(ctx, c.logger, err)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// turn is the state of a process while it is the collector.
type turn struct {
	standing   *Standing
	standingAt time.Time
	rested     time.Time // the process does not read again before this time
	sampled    time.Time // minute in which the process last counted the amount of waiting work
	failing    bool
}

// take takes or extends the lease. If this process has the lease, take reads the values, unless the
// pause after the last reading (restFor) has not ended.
func (c *Collector) take(ctx context.Context, t *turn) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	begun := time.Now()
	held, err := c.lead(context.WithoutCancel(ctx))
	if err != nil {
		return fmt.Errorf("take the lease: %w", err)
	}
	if !held {
		*t = turn{failing: t.failing}
		c.current.Store(nil)
		return nil
	}
	if now := c.current.Load(); now != nil && begun.Before(t.rested) {
		c.current.Store(&exported{now.Snapshot, begun.Add(c.lease)})
		return nil
	}
	waiting, err := c.Waiting(ctx)
	if err != nil {
		return err
	}
	if t.standing == nil || begun.Sub(t.standingAt) >= standingEvery {
		if t.standing, err = c.Standing(ctx); err != nil {
			return err
		}
		t.standingAt = begun
	}
	if minute := begun.Truncate(time.Minute); minute.After(t.sampled) {
		c.counts.sample(waiting)
		t.sampled = minute
	}
	took := time.Since(begun)
	t.rested = time.Now().Add(restFor * took)
	c.current.Store(&exported{&Snapshot{*waiting, *t.standing, took}, begun.Add(c.lease)})
	return nil
}

// lead takes or extends the lease, and reports whether this process has it. Stop does not cancel
// lead: Postgres might otherwise grant the lease after release had returned it.
func (c *Collector) lead(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	tag, err := c.sql.TakeLease.With(takeLease{Holder: c.holder, LeaseSeconds: c.lease.Seconds()}).Exec(ctx, c.db)
	if err != nil {
		return false, err
	}
	return tag.RowsAffected() > 0, nil
}

// release lets another process take over before the lease ends.
func (c *Collector) release(ctx context.Context) {
	c.current.Store(nil)
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	_, _ = c.sql.ReleaseLease.With(releaseLease{Holder: c.holder}).Exec(ctx, c.db) // on failure, the lease expires
}

// tell logs when collecting starts to fail, and when it works again.
func (t *turn) tell(ctx context.Context, logger *slog.Logger, err error) {
	switch {
	case err != nil && !t.failing:
		logger.LogAttrs(ctx, slog.LevelWarn, "gauges cannot be read", slog.Any(logkey.Err, err))
	case err == nil && t.failing:
		logger.LogAttrs(ctx, slog.LevelInfo, "gauges are read again")
	}
	t.failing = err != nil
}
