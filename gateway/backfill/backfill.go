// Package backfill recovers deliveries that never arrived. It lists the events at a provider's API,
// and accepts the missing ones or has the provider deliver them again. Package worker calls Turn as
// an upkeep job, and the command `hooklatch backfill` calls Run.
//
// # A pass
//
// A pass reads one source's list from its watermark to a little before now and asks the database
// which events are stored. It commits the missing events in batches. The watermark moves in the
// same transaction as the last batch before its new position. Each pass has a number, and once a
// pass with a higher number has begun, the older pass can write nothing. So a pass may be lost at
// any point, or run twice: no event is lost, and dedup removes duplicates.
//
// # Why nothing is missed
//
// A pass reads the period from Overlap before its watermark to Lag before now, because lists show
// events late. At intervals of Deep, a pass covers the complete Window and finds events that the
// list showed even later. A feed has its own cursor and needs neither Lag nor Overlap.
//
// # What is trusted
//
// An event is stored only if the API returned it for the source's credential, at the provider's
// host or at the host in base_url (I3). The connection uses TLS, unless base_url is an http:// URL
// with a private address. If the API also describes our endpoint, the endpoint's URL must be ours,
// so that a pass with another account's token stores nothing.
package backfill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/coverage"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// Source is a source whose events can be listed at an API. Its deliveries must have no
// outbox.Delivery.ContentWindow: a duplicate by content leaves no event, so a pass would count it
// as missing and accept it.
type Source struct {
	Name     string
	Provider *provider.Provider
	// URL is the address to which the provider should send deliveries, or empty if it is unknown.
	URL        string
	Handlers   bool          // see outbox.Delivery.Handlers
	Livemode   bool          // if true, the provider's test events are skipped
	Settings   Settings      // with defaults filled in
	Remembered time.Duration // how long an event's key is remembered; 0: forever
}

// Options configure a Backfill.
type Options struct {
	// Outbox accepts the missing events. Required.
	Outbox *outbox.Outbox
	// Sources returns the sources that have a list. Each call of Turn or Run calls it. Required.
	Sources func() []Source
	// Budget is the maximum time of one turn. The next turn continues where it stopped. Defaults to
	// 20 seconds.
	Budget time.Duration
	// GatewayGone is how long passes continue to request redeliveries after the last sign of a
	// running gateway. Defaults to 30 seconds.
	GatewayGone time.Duration
	// Logger defaults to a logger that discards everything, MeterProvider to the global one.
	Logger        *slog.Logger
	MeterProvider metric.MeterProvider
}

func (o Options) withDefaults() Options {
	if o.Budget == 0 {
		o.Budget = 20 * time.Second
	}
	if o.GatewayGone == 0 {
		o.GatewayGone = 30 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	return o
}

// Backfill runs the passes over the lists of all sources. It is safe for concurrent use: if
// two passes read one list, only the later pass can still write.
type Backfill struct {
	opts    Options
	clients clients
	meters  meters
	turns   atomic.Uint64
	sleep   func(ctx context.Context, d time.Duration)
}

// New returns a Backfill. It starts nothing.
func New(opts Options) (*Backfill, error) {
	opts = opts.withDefaults()
	if opts.Outbox == nil || opts.Sources == nil {
		return nil, errors.New("backfill options: Outbox and Sources are required")
	}
	m, err := newMeters(opts.MeterProvider)
	if err != nil {
		return nil, fmt.Errorf("backfill: %w", err)
	}
	return &Backfill{opts: opts, meters: m, sleep: sleep}, nil
}

// Turn runs the passes that are due. It stops when its budget is used up. Each turn begins one
// source later than the previous turn, so that a long list cannot keep the other sources waiting. A
// provider's failure is stored with its list and is not returned as an error.
func (b *Backfill) Turn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.opts.Budget)
	defer cancel()
	var errs []error
	sources := b.opts.Sources()
	b.clients.keep(sources)
	first := int((b.turns.Add(1) - 1) % uint64(max(len(sources), 1))) //nolint:gosec // less than the number of sources
	for _, s := range slices.Concat(sources[first:], sources[:first]) {
		for _, account := range s.Settings.streams() {
			if ctx.Err() != nil {
				return errors.Join(errs...)
			}
			if _, err := b.pass(ctx, s, account, Order{}); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// Order describes a pass that an operator requests. The zero Order describes a pass that is due.
type Order struct {
	By           string    // the operator; empty: the pass is due, not requested
	Since, Until time.Time // zero: from the watermark, until Lag ago
	DryRun       bool      // if true, the pass writes nothing and requests no redelivery
	Types        []string  // nil: the types in the settings
	Via          Via       // empty: the value in the settings
	Limit        int       // number of missing events after whose batch the pass ends; 0: no limit
	// Record is called before the first pass, to record the order. May be nil.
	Record func(context.Context) error
	// Met is called for each listed item. May be nil.
	Met func(Item, Fate)
	// Progress is called after each batch. May be nil.
	Progress func(coverage.Run)
}

// partial reports whether the order covers only part of the list. A partial pass does not read the
// rest of the list, so it does not move the watermark.
func (o Order) partial() bool {
	return !o.Since.IsZero() || !o.Until.IsZero() || len(o.Types) > 0 || o.Limit > 0
}

// Run makes one pass over each list of a source at an operator's request. It stops at the first
// pass that fails, and returns the runs so far and that pass's error. It makes no pass if the
// source has no backfill, or if event keys from the time of Since are no longer kept.
func (b *Backfill) Run(ctx context.Context, source string, o Order) ([]coverage.Run, error) {
	for _, s := range b.opts.Sources() {
		if s.Name != source {
			continue
		}
		if age := time.Since(o.Since); !o.Since.IsZero() && s.Remembered > 0 && age >= s.Remembered {
			return nil, fmt.Errorf("keys of events of %s are kept for %s (retention.dedup): an earlier event that was stored and deleted would be accepted again; start later", source, s.Remembered)
		}
		if o.Record != nil {
			if err := o.Record(ctx); err != nil {
				return nil, err
			}
		}
		var runs []coverage.Run
		for _, account := range s.Settings.streams() {
			run, err := b.pass(ctx, s, account, o)
			if run != nil {
				runs = append(runs, *run)
			}
			if err != nil {
				return runs, err
			}
			if run == nil {
				return runs, errors.New("the provider asked for a pause; `hooklatch backfill status` shows until when")
			}
			if run.Error != "" {
				return runs, errors.New(run.Error)
			}
		}
		return runs, nil
	}
	return nil, fmt.Errorf("source %q has no backfill", source)
}

func (s Source) stream(account string) coverage.Stream {
	return coverage.Stream{Source: identity.Source(s.Name), Name: account}
}
