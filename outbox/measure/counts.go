package measure

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/schema"
)

const (
	// AddEvery is how often a process adds what it counted.
	AddEvery = 10 * time.Second
	// addTimeout bounds that: a database that is slower than this gets it later.
	addTimeout = 5 * time.Second
	// maxWait is how long counts wait for a database that is away. Hours are summed up
	// again for longer than this.
	maxWait = time.Hour
)

// CountsOptions configure Counts.
type CountsOptions struct {
	// Pool is the database, migrated. Required.
	Pool *pgxpool.Pool
	// Schema holds the tables. Defaults to schema.Default.
	Schema schema.Name
	// Logger defaults to one that discards.
	Logger *slog.Logger
}

// Counts are what one process counts. A nil one counts nothing. It is safe for
// concurrent use.
type Counts struct {
	pool   *pgxpool.Pool
	sql    statements
	logger *slog.Logger
	now    func() time.Time // by the clock of this process

	counters sync.Map    // of key: *Counter
	awake    atomic.Bool // a tick follows
	adding   sync.Mutex  // held while the database is told
	mu       sync.Mutex
	waiting  map[added]int64 // what the database was not told of
	tick     *time.Timer
	closed   bool
	failing  bool // guarded by adding
}

// key is what a Counter counts.
type key struct {
	kind Kind
	name string
	what What
}

// added is a row of minutes.
type added struct {
	key

	minute time.Time // by the clock of this process
}

// Counter counts one thing. A nil one counts nothing. It is safe for concurrent use.
type Counter struct {
	counts *Counts
	n      atomic.Int64
}

// NewCounts returns Counts that add to a migrated database. It starts nothing: while there
// is nothing to count, nothing is added.
func NewCounts(opts CountsOptions) (*Counts, error) {
	sql, err := loadStatements(opts.Schema)
	if err != nil {
		return nil, fmt.Errorf("measure: %w", err)
	}
	logger := opts.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Counts{pool: opts.Pool, sql: sql, logger: logger, now: clock.Now, waiting: make(map[added]int64)}, nil
}

// Of is the Counter of one thing: the same for the same thing. Names must be those of
// a configuration, never what a stranger says: each has rows of its own.
func (c *Counts) Of(kind Kind, name string, what What) *Counter {
	if c == nil {
		return nil
	}
	asked := key{kind, name, what}
	if found, ok := c.counters.Load(asked); ok {
		return found.(*Counter) //nolint:forcetypeassert // nothing else is in it
	}
	found, _ := c.counters.LoadOrStore(asked, &Counter{counts: c})
	return found.(*Counter) //nolint:forcetypeassert // nothing else is in it
}

// Add counts n more.
func (c *Counter) Add(n int64) {
	if c == nil {
		return
	}
	c.n.Add(n)
	if !c.counts.awake.Load() {
		c.counts.wake()
	}
}

// wake has what is counted added at the end of these ten seconds of the clock, which
// is never in the middle of a minute that something else is counted for.
func (c *Counts) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.awake.Swap(true) {
		return
	}
	now := c.now()
	end := now.Truncate(AddEvery).Add(AddEvery)
	c.tick = time.AfterFunc(end.Sub(now), func() { c.end(end) })
}

// end adds what was counted up to a moment.
func (c *Counts) end(at time.Time) {
	c.awake.Store(false) // what is counted from here on wakes it again
	c.collect(at)
	ctx, cancel := context.WithTimeout(context.Background(), addTimeout)
	defer cancel()
	if !c.add(ctx, at) {
		c.wake()
	}
}

// collect takes what was counted before a moment.
func (c *Counts) collect(before time.Time) {
	minute := before.Add(-1).Truncate(time.Minute)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counters.Range(func(of, counter any) bool {
		if n := counter.(*Counter).n.Swap(0); n != 0 { //nolint:forcetypeassert // nothing else is in it
			c.waiting[added{of.(key), minute}] += n //nolint:forcetypeassert // nothing else is in it
		}
		return true
	})
}

// add tells the database what waits. False: it could not be told, and was not.
func (c *Counts) add(ctx context.Context, now time.Time) bool {
	c.adding.Lock()
	defer c.adding.Unlock()
	c.mu.Lock()
	waiting := c.waiting
	c.waiting = make(map[added]int64, len(waiting))
	c.mu.Unlock()
	if len(waiting) == 0 {
		return true
	}
	sent, err := c.send(ctx, waiting)
	c.tell(ctx, err)
	switch {
	case err == nil:
		return true
	case sent && !refused(err):
		return true // too little is better than too much, and only the server knows which it is
	}
	c.keep(waiting, now.Add(-maxWait))
	return false
}

// tell logs when statistics begin to wait, and when they no longer do.
func (c *Counts) tell(ctx context.Context, err error) {
	switch {
	case err != nil && !c.failing:
		c.logger.LogAttrs(ctx, slog.LevelWarn, "statistics wait for their database, for an hour at most", slog.Any(logkey.Err, err))
	case err == nil && c.failing:
		c.logger.LogAttrs(ctx, slog.LevelInfo, "statistics are written again")
	}
	c.failing = err != nil
}

// send adds rows, and tells whether the database may have got them. Nobody waits for
// a disk or a standby for their sake.
func (c *Counts) send(ctx context.Context, waiting map[added]int64) (sent bool, err error) {
	tx, err := c.pool.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = off"); err != nil {
		return false, err
	}
	rows := addCounts{Added: rowsOf(waiting, c.now())}
	if _, err := c.sql.AddCounts.With(rows).Exec(ctx, tx); err != nil {
		return false, err
	}
	if _, err := c.sql.NoteSeen.With(rows).Exec(ctx, tx); err != nil {
		return false, err
	}
	return true, tx.Commit(ctx)
}

// refused tells whether the server answered that it did nothing. One that ends the
// connection may have done it before.
func refused(err error) bool {
	answer, ok := sqlstate.Of(err)
	return ok && answer.SeverityUnlocalized == "ERROR"
}

// keep lets rows that were not added wait, but for old ones.
func (c *Counts) keep(rows map[added]int64, oldest time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for row, n := range rows {
		if !row.minute.Before(oldest) {
			c.waiting[row] += n
		}
	}
}

// Stop adds what was counted until now, and later counts of nothing. It may be called
// again.
func (c *Counts) Stop(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	if c.tick != nil {
		c.tick.Stop()
	}
	c.mu.Unlock()
	now := c.now()
	c.collect(now)
	c.add(ctx, now)
	return nil
}

// rowsOf are rows with their age: which minute that was is said by the clock of the
// database, which is the same for all processes.
func rowsOf(waiting map[added]int64, now time.Time) []countRow {
	rows := make([]countRow, 0, len(waiting))
	for of, n := range waiting {
		rows = append(rows, countRow{SecondsAgo: now.Sub(of.minute).Seconds(), Kind: string(of.kind), Name: of.name, What: string(of.what), N: n})
	}
	return rows
}
