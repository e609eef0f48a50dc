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
	// AddEvery is the interval at which a process adds its counts to the database.
	AddEvery = 10 * time.Second
	// addTimeout limits one transaction that adds counts. A slower database gets the counts later.
	addTimeout = 5 * time.Second
	// maxWait is the maximum time that counts wait for an unavailable database. Tidy sums hours again
	// over a longer period, and so includes these late counts.
	maxWait = time.Hour
)

// CountsOptions configure Counts.
type CountsOptions struct {
	// Pool connects to the migrated database. Required.
	Pool *pgxpool.Pool
	// Schema is the Postgres schema of the tables. Defaults to schema.Default.
	Schema schema.Name
	// Logger defaults to a logger that discards everything.
	Logger *slog.Logger
}

// Counts are the counters of one process, safe for concurrent use. A nil Counts counts nothing.
type Counts struct {
	pool   *pgxpool.Pool
	sql    statements
	logger *slog.Logger
	now    func() time.Time // by this process's clock

	counters sync.Map    // maps a key to its *Counter
	awake    atomic.Bool // a tick is scheduled
	adding   sync.Mutex  // held while counts are sent to the database
	mu       sync.Mutex
	waiting  map[added]int64 // not yet sent to the database
	tick     *time.Timer
	closed   bool
	failing  bool // guarded by adding
}

// key identifies a Counter.
type key struct {
	kind Kind
	name string
	what What
}

// added identifies a row of minutes.
type added struct {
	key

	minute time.Time // by this process's clock
}

// Counter counts one kind of occurrence. Counters are safe for concurrent use. A nil Counter counts
// nothing.
type Counter struct {
	counts *Counts
	n      atomic.Int64
}

// NewCounts returns Counts that add to a migrated database. NewCounts starts nothing, and Counts
// write nothing while all counts are zero.
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

// Of returns the Counter for a kind, name and what: always the same Counter for the same arguments.
// Names must come from a configuration, never from a sender, because each name has its own rows.
func (c *Counts) Of(kind Kind, name string, what What) *Counter {
	if c == nil {
		return nil
	}
	asked := key{kind, name, what}
	if found, ok := c.counters.Load(asked); ok {
		return found.(*Counter) //nolint:forcetypeassert // the map contains only Counters
	}
	found, _ := c.counters.LoadOrStore(asked, &Counter{counts: c})
	return found.(*Counter) //nolint:forcetypeassert // the map contains only Counters
}

// Add adds n to the count.
func (c *Counter) Add(n int64) {
	if c == nil {
		return
	}
	c.n.Add(n)
	if !c.counts.awake.Load() {
		c.counts.wake()
	}
}

// wake schedules an addition of the counts at the end of the current ten-second period of the
// clock. Such a period never crosses a minute, so all counts collected at once are from one minute.
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

// end collects the counts of the period that ends at the given time, and sends them to the
// database.
func (c *Counts) end(at time.Time) {
	c.awake.Store(false) // later counts schedule a new tick
	c.collect(at)
	ctx, cancel := context.WithTimeout(context.Background(), addTimeout)
	defer cancel()
	if !c.add(ctx, at) {
		c.wake()
	}
}

// collect takes all counts so far, and dates them to the minute of the moment just before the given
// time.
func (c *Counts) collect(before time.Time) {
	minute := before.Add(-1).Truncate(time.Minute)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counters.Range(func(of, counter any) bool {
		if n := counter.(*Counter).n.Swap(0); n != 0 { //nolint:forcetypeassert // the map contains only Counters
			c.waiting[added{of.(key), minute}] += n //nolint:forcetypeassert // the map contains only keys
		}
		return true
	})
}

// add sends the waiting counts to the database. It returns false if they were certainly not
// added.
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
		return true // the outcome is unknown, and a count that is too low is better than one that is too high
	}
	c.keep(waiting, now.Add(-maxWait))
	return false
}

// tell logs when counts start to wait for the database, and when the database receives them again.
func (c *Counts) tell(ctx context.Context, err error) {
	switch {
	case err != nil && !c.failing:
		c.logger.LogAttrs(ctx, slog.LevelWarn, "statistics wait for their database, for an hour at most", slog.Any(logkey.Err, err))
	case err == nil && c.failing:
		c.logger.LogAttrs(ctx, slog.LevelInfo, "statistics are written again")
	}
	c.failing = err != nil
}

// send adds rows, and reports whether the database may have committed them. The transaction does
// not wait for a disk or a standby.
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

// refused reports whether the server responded that it did nothing. A server that closes the
// connection may have committed before.
func refused(err error) bool {
	answer, ok := sqlstate.Of(err)
	return ok && answer.SeverityUnlocalized == "ERROR"
}

// keep puts rows that were not added back into waiting, except rows of minutes before oldest.
func (c *Counts) keep(rows map[added]int64, oldest time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for row, n := range rows {
		if !row.minute.Before(oldest) {
			c.waiting[row] += n
		}
	}
}

// Stop adds everything counted until now. It may be called again. Only another Stop adds later
// counts, or counts that this Stop could not add.
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

// rowsOf returns rows with their age. The database's clock, the same for all processes, decides the
// minute of each row.
func rowsOf(waiting map[added]int64, now time.Time) []countRow {
	rows := make([]countRow, 0, len(waiting))
	for of, n := range waiting {
		rows = append(rows, countRow{SecondsAgo: now.Sub(of.minute).Seconds(), Kind: string(of.kind), Name: of.name, What: string(of.what), N: n})
	}
	return rows
}
