package senders

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/post"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
)

// The shares of sends that are not new events.
const (
	shareAgain  = 0.20 // a past event
	shareForged = 0.05 // a delivery that must be refused
)

// pace starts sends at random moments, with Rate new events per second on average.
func (s *Senders) pace(ctx context.Context) {
	perSecond := s.opts.Rate / (1 - shareAgain - shareForged)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		s.begin()
		timer.Reset(time.Duration(s.roll().ExpFloat64() / perSecond * float64(time.Second)))
	}
}

// begin starts one random send: a new event, a past event or a forgery. It starts nothing if the
// send needs a past event and none fits, or if a new event would exceed Options.MaxOpen.
func (s *Senders) begin() {
	s.beginning.Lock()
	defer s.beginning.Unlock()
	dice := s.roll()
	kind := dice.Float64()
	switch {
	case s.duplicatesOnly.Load():
		// Only an acknowledged event is certainly stored, because some senders never retry.
		if old := s.past.any(dice); old != nil && old.acked.Load() {
			s.again(old, dice)
		}
	case kind < shareAgain:
		if old := s.past.any(dice); old != nil {
			s.again(old, dice)
		}
	case kind < shareAgain+shareForged:
		src := s.anySource(dice)
		s.sending.Go(func() { s.forge(src, dice) })
	case s.open.Load() < int64(s.opts.MaxOpen):
		src := s.anySource(dice)
		s.pursue(s.fresh(src, dice), anyManner(dice), dice)
	}
}

// roll returns separate dice for one send.
func (s *Senders) roll() *rand.Rand {
	s.mu.Lock()
	defer s.mu.Unlock()
	return dice(s.opts.Seed, s.dice.Int64())
}

func (s *Senders) anySource(dice *rand.Rand) *source {
	n := dice.IntN(s.weight)
	for _, src := range s.sources {
		if n -= src.weight; n < 0 {
			return src
		}
	}
	return s.sources[0]
}

func (s *Senders) fresh(src *source, dice *rand.Rand) *event {
	return src.newEvent(s.number.Add(1), dice, time.Now())
}

// OnlyDuplicates makes the senders send only past events if on is true. If on is false, they send
// new events again. The senders still pursue the events that are open when OnlyDuplicates returns.
func (s *Senders) OnlyDuplicates(on bool) {
	s.beginning.Lock()
	defer s.beginning.Unlock()
	s.duplicatesOnly.Store(on)
}

// Storm sends one new event n times simultaneously, to all gateways, and returns when these
// deliveries have ended or ctx is done.
func (s *Senders) Storm(ctx context.Context, n int) {
	dice := s.roll()
	s.together(ctx, s.fresh(s.anySource(dice), dice), n, dice)
}

// Poison sends n events simultaneously for the source with the strangest bodies, and returns when
// their first deliveries have ended or ctx is done.
func (s *Senders) Poison(ctx context.Context, n int) {
	var first sync.WaitGroup
	for range n {
		dice := s.roll()
		for _, src := range s.sources {
			if src.Shape == scenario.Poison {
				first.Go(func() { s.together(ctx, s.fresh(src, dice), 1, dice) })
			}
		}
	}
	first.Wait()
}

// together sends an event n times simultaneously, and returns when these deliveries have ended or
// ctx is done. Then the event is pursued like any other. While Stop waits for open events, together
// sends nothing.
func (s *Senders) together(ctx context.Context, e *event, n int, dice *rand.Rand) {
	if s.healing.Load() {
		return // Stop waits only for started sends
	}
	first := make(chan struct{})
	s.pursueWith(e, dice, func() post.Outcome {
		defer close(first)
		return s.parallel(e, n, dice)
	})
	select {
	case <-first:
	case <-ctx.Done():
	}
}
