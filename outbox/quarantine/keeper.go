package quarantine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/hooklatch/hooklatch/internal/instrument"
	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/internal/ondemand"
	"github.com/hooklatch/hooklatch/schema"
)

// The limits of the quarantine. Half of each cap and rate is for known addresses, from which a
// delivery was accepted in the last 30 days. The other half is for all other addresses. The
// addresses within a half share it evenly.
const (
	maxBody  = 256 << 10 // per request
	maxRows  = 1000      // per source
	maxBytes = 64 << 20  // per source

	turn         = time.Second // pause between two writes
	rowsATurn    = 20
	bytesATurn   = 1 << 20
	keepTimeout  = 5 * time.Second
	tidyInterval = time.Hour // interval between deletions of expired rows, of all sources
)

// The limits of the requests that wait in memory.
const (
	knownWaiting      = 512
	knownWaitingBytes = 4 << 20
	otherWaiting      = 64
	otherWaitingBytes = 2 << 20
)

// KeeperOptions configure a Keeper.
type KeeperOptions struct {
	// Pool connects to the migrated database. It should have a single connection, because unknown
	// senders determine the amount of writes. Required.
	Pool *pgxpool.Pool
	// Schema is the Postgres schema of the tables. Defaults to schema.Default.
	Schema schema.Name
	// Logger defaults to a logger that discards everything.
	Logger *slog.Logger
	// MeterProvider defaults to the global provider.
	MeterProvider metric.MeterProvider
	// Timeout limits each write. The requests of a write that takes longer are dropped. Defaults to 5 s.
	Timeout time.Duration
}

// Keeper stores requests that a gateway refuses. It writes at most 20 requests and 1 MiB per
// second. It fills each half of a source's caps at this rate, and then replaces only a part of that
// half per hour. It also remembers the addresses of accepted deliveries. No method except Stop
// waits for the database. Addresses are IPv4 addresses, or the /64 of IPv6 addresses. Keeper is
// safe for concurrent use.
type Keeper struct {
	db        *commit.DB
	sql       statements
	logger    *slog.Logger
	runner    *ondemand.Runner
	addresses *addresses
	kept      metric.Int64Counter
	lost      metric.Int64Counter
	tidied    time.Time // used by the runner only
	tidyEvery time.Duration
	now       func() time.Time
	timeout   time.Duration

	mu       sync.Mutex
	known    *line
	others   *line
	allowing allowances
	later    *time.Timer // wakes the runner for the next deletion of expired rows; nil before the first turn
	stopped  bool
}

// NewKeeper returns a Keeper on a migrated database. An idle Keeper has no goroutine.
func NewKeeper(opts KeeperOptions) (*Keeper, error) {
	if opts.Pool == nil {
		return nil, errors.New("quarantine options: Pool is required")
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.MeterProvider == nil {
		opts.MeterProvider = otel.GetMeterProvider()
	}
	k := &Keeper{
		logger: opts.Logger, addresses: newAddresses(), now: time.Now, timeout: cmp.Or(opts.Timeout, keepTimeout), tidyEvery: tidyInterval, allowing: make(allowances),
		known: newLine(knownWaiting, knownWaitingBytes), others: newLine(otherWaiting, otherWaitingBytes),
	}
	k.runner = ondemand.NewRunner(turn, k.work)
	var err error
	if k.sql, err = loadStatements(opts.Schema.OrDefault()); err != nil {
		return nil, err
	}
	if k.db, err = commit.New(commit.Options{Pool: opts.Pool, MeterProvider: opts.MeterProvider}); err != nil {
		return nil, err
	}
	in := instrument.NewMaker(opts.MeterProvider.Meter("github.com/hooklatch/hooklatch/outbox/quarantine"))
	k.kept = in.Counter("hooklatch.quarantine.kept", "{delivery}", "Refused deliveries that were kept in quarantine.")
	k.lost = in.Counter("hooklatch.quarantine.left_out", "{delivery}", "Refused deliveries that were not kept because the quarantine was full or they were too large.")
	return k, in.Err()
}

// Keep offers a request to the quarantine. The parameters from and size are the sender's address
// and the length of the body in bytes. Keep calls the function refused, which creates the request,
// only if the limits leave room for the request. The caller may reuse the headers and the body
// afterwards.
func (k *Keeper) Keep(source identity.Source, from netip.Prefix, size int, refused func() Refused) {
	if !k.offer(source, from, size, refused) {
		k.lost.Add(context.Background(), 1, sourceLabel(source))
	}
}

func (k *Keeper) offer(source identity.Source, from netip.Prefix, size int, refused func() Refused) bool {
	if size > maxBody {
		return false
	}
	known := k.addresses.known(source, from)
	k.mu.Lock()
	defer k.mu.Unlock()
	waiting := k.others
	if known {
		waiting = k.known
	}
	if !k.allowing.of(half{source, known}).allows(k.now(), size) {
		return false
	}
	room, gone := waiting.makeRoom(from, size)
	if gone > 0 {
		k.lost.Add(context.Background(), int64(gone), sourceLabel(source))
	}
	if !room {
		return false
	}
	p, err := seal(refused())
	if err != nil {
		k.logger.Error("refused delivery not kept", slog.String(logkey.Source, string(source)), slog.Any(logkey.Err, err))
		return false
	}
	p.known = known
	waiting.join(p)
	return k.runner.Wake()
}

// Accepted records that a delivery of a source from an address was accepted.
func (k *Keeper) Accepted(source identity.Source, from netip.Prefix) {
	if from.IsValid() && k.addresses.note(source, from) {
		k.runner.Wake()
	}
}

// Known reports whether a delivery for source from an address was accepted in the last 30 days. An
// empty source means any source. Known does not query the database.
func (k *Keeper) Known(source identity.Source, from netip.Prefix) bool {
	return from.IsValid() && k.addresses.known(source, from)
}

// Start begins to read the addresses that other processes, and earlier runs of this process, have
// stored. Call Start once the database is migrated. None of these addresses is known before the
// first read.
func (k *Keeper) Start() { k.runner.Wake() }

// wakeToTidy schedules a turn tidyEvery from now. Without deliveries, nothing else would wake the
// Keeper, and expired rows would stay.
func (k *Keeper) wakeToTidy() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.later != nil {
		k.later.Stop()
	}
	if !k.stopped {
		k.later = time.AfterFunc(k.tidyEvery, func() { k.runner.Wake() })
	}
}

// work runs one turn: it syncs the addresses, and writes the requests that may be written now.
func (k *Keeper) work() {
	defer k.wakeToTidy()
	ctx, cancel := context.WithTimeout(context.Background(), k.timeout)
	defer cancel()
	if err := k.syncAddresses(ctx); err != nil {
		k.logger.Warn("addresses of senders not kept", slog.Any(logkey.Err, err))
	}
	batch, more := k.takeTurn()
	if more {
		k.runner.Wake()
	}
	if len(batch) == 0 {
		return
	}
	counted := k.kept
	left, err := k.write(ctx, batch)
	if err != nil {
		k.logger.Warn("refused deliveries not kept", slog.Int(logkey.Count, len(batch)), slog.Any(logkey.Err, err))
		counted = k.lost
	}
	k.renewAllowances(left)
	for _, p := range batch {
		counted.Add(ctx, 1, sourceLabel(p.Source))
	}
}

// renewAllowances renews the allowance of each half that is at least half empty. A half empties when
// operators retry or drop its deliveries, or when the deliveries expire.
func (k *Keeper) renewAllowances(left []content) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range left {
		k.allowing.renew(c, k.now())
	}
}

// takeTurn takes the requests that may be written now, and reports whether more are waiting. Half
// of the rows and bytes is for known addresses. Known addresses also get the unused part of the
// other half. takeTurn drops requests beyond the allowance of their half of the source's caps.
func (k *Keeper) takeTurn() (batch []*pending, more bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.others.leave(func(p *pending) bool { return k.addresses.known(p.Source, p.From) }) {
		p.known = true // its sender has become known meanwhile
		room, gone := k.known.makeRoom(p.From, p.size)
		if room {
			k.known.join(p)
		} else {
			gone++
		}
		if gone > 0 {
			k.lost.Add(context.Background(), int64(gone), sourceLabel(p.Source))
		}
	}
	batch = k.others.take(rowsATurn/2, bytesATurn/2)
	bytes := bytesATurn
	for _, p := range batch {
		bytes -= p.size
	}
	batch = append(batch, k.known.take(rowsATurn-len(batch), bytes)...)
	now := k.now()
	batch = slices.DeleteFunc(batch, func(p *pending) bool {
		if k.allowing.of(half{p.Source, p.known}).spend(now, p.size) {
			return false
		}
		k.lost.Add(context.Background(), 1, sourceLabel(p.Source))
		return true
	})
	return batch, len(k.others.waiting)+len(k.known.waiting) > 0
}

// Stop waits until the waiting requests are written, or ctx is done. It may be called again.
func (k *Keeper) Stop(ctx context.Context) error {
	k.mu.Lock()
	k.stopped = true
	if k.later != nil {
		k.later.Stop()
	}
	k.mu.Unlock()
	if err := k.runner.Stop(ctx); err != nil {
		return fmt.Errorf("stop quarantine: %w", err)
	}
	return nil
}

func sourceLabel(source identity.Source) metric.AddOption {
	return metric.WithAttributeSet(labelsOf(source))
}
