// Package backfill fetches deliveries that never came: it asks the API of a provider
// what happened, and accepts what is missing, or has the provider deliver it again.
// Package worker calls Turn as an upkeep job, and the command `hooklatch backfill` calls
// Run.
//
// # A pass
//
// A pass reads the list of one source from its watermark to a little before now, asks the
// database which of it is stored, and commits the rest in batches, each with the watermark
// behind it in one transaction. It has a number, and a pass with an older one can write
// nothing more. So a pass may be lost at any point, and run twice, and nothing is lost or
// stored twice: dedup does the rest.
//
// # Why nothing is missed
//
// A pass ends Lag before now, because lists show events late, and begins Overlap before
// its watermark. What the list shows later than that is met by the pass over the whole
// Window, once in Deep. A feed has a cursor of its own instead, and needs neither.
//
// # What is trusted
//
// An event is stored if the API said it over TLS, at the host that the provider or the
// setting base_url names, to the credential of the source (I3). Where our endpoint is
// listed too, it must lead to us first: a token of another account stores nothing.
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
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/coverage"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// Source is a source with a list.
type Source struct {
	Name     string
	Provider *provider.Provider
	// URL is what the provider was told to send to; empty where nobody said it.
	URL           string
	Handlers      bool          // as outbox.Delivery.Handlers
	ContentWindow time.Duration // as outbox.Delivery.ContentWindow
	Livemode      bool          // tests of the provider are left out
	Settings      Settings      // with their defaults
	Remembered    time.Duration // how long the key of an event is; 0: always
}

// Options configure a Backfill.
type Options struct {
	// Outbox accepts what is missing. Required.
	Outbox *outbox.Outbox
	// Sources are those that have a list, asked for at each turn. Required.
	Sources func() []Source
	// Budget is how long one turn lasts; the next goes on where it ended. Defaults to 20
	// seconds.
	Budget time.Duration
	// GatewayGone is for how long a gateway may be silent before no redelivery is asked
	// for. Defaults to 30 seconds.
	GatewayGone time.Duration
	// Logger defaults to one that discards, MeterProvider to the global one.
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

// Backfill makes the passes over the lists of all sources. It is safe for concurrent use:
// of two passes over one list the later one goes on.
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

// Turn makes the passes that are due, until its budget is used up. Each turn begins one
// source further, so that a long list keeps no other waiting. What a provider does wrong is
// kept with its list, and is no error.
func (b *Backfill) Turn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.opts.Budget)
	defer cancel()
	var errs []error
	sources := b.opts.Sources()
	b.clients.keep(sources)
	first := int((b.turns.Add(1) - 1) % uint64(max(len(sources), 1))) //nolint:gosec // it is below the number of sources
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

// Order is a pass that a person wants.
type Order struct {
	By           string    // who; empty: nobody, it is due
	Since, Until time.Time // zero: from the watermark, until Lag ago
	DryRun       bool      // nothing is written, and nothing asked for
	Types        []string  // zero: those of the settings
	Via          Via       // empty: that of the settings
	Limit        int       // of missing events; 0: none
	// Met is called with each event that is listed, by a dry run. It may be nil.
	Met func(Item, Fate)
	// Progress is called after each batch. It may be nil.
	Progress func(coverage.Run)
}

// partial orders look at a part of what there is: they say nothing of the rest, and move
// no watermark.
func (o Order) partial() bool {
	return !o.Since.IsZero() || !o.Until.IsZero() || len(o.Types) > 0 || o.Limit > 0
}

// Run makes one pass over each list of a source by order of a person. Errors: what kept a
// pass from its end.
func (b *Backfill) Run(ctx context.Context, source string, o Order) ([]coverage.Run, error) {
	for _, s := range b.opts.Sources() {
		if s.Name != source {
			continue
		}
		if age := time.Since(o.Since); !o.Since.IsZero() && s.Remembered > 0 && age >= s.Remembered {
			return nil, fmt.Errorf("keys of events of %s are remembered for %s (retention.dedup): of what happened before, an event that was stored and deleted would be accepted again", source, s.Remembered)
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
				return runs, errors.New("the provider asked to be left alone for a while; `hooklatch backfill status` says until when")
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
