package senders

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// Senders send the traffic of a run, from Start to Stop.
type Senders struct {
	opts     Options
	sources  []*source
	gateways []target
	weight   int // total weight of all sources
	tally    tally

	beginning      sync.Mutex // held while a send starts, until its event counts as open
	duplicatesOnly atomic.Bool
	number         atomic.Int64 // number of the last event
	open           atomic.Int64 // events that are neither acknowledged nor given up
	inFlight       atomic.Int64 // deliveries in progress

	mu   sync.Mutex
	dice *rand.Rand
	past *past

	stop      sync.Once
	pacing    sync.WaitGroup
	sending   sync.WaitGroup
	endPacing context.CancelFunc
	endAll    context.CancelFunc // cuts deliveries and gives up on open events
	run       context.Context    //nolint:containedctx // context of all deliveries: they outlive the call that begins them
	healing   atomic.Bool        // Stop waits for open events
}

// target is a gateway with its parsed address.
type target struct {
	Gateway

	base *url.URL
}

// New creates senders. It returns an error if a source or a gateway is invalid, or if there is no
// gateway.
func New(o Options) (*Senders, error) {
	if len(o.Gateways) == 0 {
		return nil, errors.New("senders need a gateway to send to")
	}
	o = o.withDefaults()
	s := &Senders{opts: o, dice: dice(o.Seed, 0), past: newPast()}
	for _, g := range o.Gateways {
		base, err := url.Parse(g.URL)
		if err != nil {
			return nil, fmt.Errorf("gateway %s: %w", g.Name, err)
		}
		s.gateways = append(s.gateways, target{g, base})
	}
	for i, given := range o.Sources {
		made, err := newSource(given, i*o.SendersPerSource+1, o)
		if err != nil {
			return nil, fmt.Errorf("source %s: %w", given.Name, err)
		}
		s.sources = append(s.sources, made)
		s.weight += made.weight
	}
	s.run, s.endAll = context.WithCancel(context.Background())
	return s, nil
}

// Start starts to send, and returns immediately.
func (s *Senders) Start() {
	var ctx context.Context
	ctx, s.endPacing = context.WithCancel(s.run)
	s.pacing.Go(func() { s.pace(ctx) })
}

// Stop prevents new events, and waits until all signed events are acknowledged, except those of
// senders that never retry. If ctx ends first, Stop cuts current deliveries and returns an error
// with the number of open events.
func (s *Senders) Stop(ctx context.Context) error {
	var err error
	s.stop.Do(func() { err = s.heal(ctx) })
	return err
}

func (s *Senders) heal(ctx context.Context) error {
	s.healing.Store(true)
	if s.endPacing != nil {
		s.endPacing()
	}
	s.pacing.Wait()
	sent := make(chan struct{})
	go func() {
		s.sending.Wait()
		close(sent)
	}()
	var err error
	select {
	case <-sent:
	case <-ctx.Done():
		err = fmt.Errorf("%d events were not acknowledged: %w", s.open.Load(), context.Cause(ctx))
	}
	s.endAll()
	<-sent
	for _, src := range s.sources {
		src.hangUp()
	}
	return err
}

// Acked returns the number of acknowledged deliveries.
func (s *Senders) Acked() int64 { return s.tally.acknowledged() }

// AckedInLast returns the number of deliveries acknowledged within the last d. d must be at most
// ten seconds.
func (s *Senders) AckedInLast(d time.Duration) int { return s.tally.inLast(d, time.Now()) }

// InFlight returns the number of deliveries in progress.
func (s *Senders) InFlight() int { return int(s.inFlight.Load()) }

// Open returns the number of events that are neither acknowledged nor given up by their sender.
func (s *Senders) Open() int { return int(s.open.Load()) }
