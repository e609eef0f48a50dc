package senders

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/post"
	"github.com/hooklatch/hooklatch/internal/retry"
)

// pursue starts to send an event, and returns immediately. If the event's provider retries, the
// event is sent until it is acknowledged.
func (s *Senders) pursue(e *event, m manner, dice *rand.Rand) {
	s.pursueWith(e, dice, func() post.Outcome {
		switch m {
		case atOnce:
			return s.parallel(e, 2+dice.IntN(4), dice)
		case late:
			// The wait lets newer events of the same account overtake this event.
			_ = retry.Wait(s.run, time.Duration(dice.Int64N(int64(3*time.Second)))) // not sent if s.run is done
		}
		return s.deliver(s.run, delivery{event: e, attempt: 1, manner: m, to: s.anyGateway(dice), by: s.senderOf(e, 0)}, dice)
	})
}

// pursueWith is like pursue, but calls the function first for the first attempt.
func (s *Senders) pursueWith(e *event, dice *rand.Rand, first func() post.Outcome) {
	s.open.Add(1)
	s.past.add(e, dice)
	s.sending.Go(func() {
		defer s.open.Add(-1)
		out := first()
		for attempt := 2; !out.Acknowledged && e.source.retries() && retry.Wait(s.run, s.pause(e.source, attempt, dice)) == nil; attempt++ {
			out = s.deliver(s.run, delivery{event: e, attempt: attempt, last: out, to: s.anyGateway(dice), by: s.senderOf(e, 0)}, dice)
		}
	})
}

// pause returns a provider's wait before an attempt, varied at random by up to a quarter.
func (s *Senders) pause(src *source, attempt int, dice *rand.Rand) time.Duration {
	wait := src.waits[min(attempt-2, len(src.waits)-1)]
	if s.healing.Load() {
		wait = min(wait, s.opts.MaxWait/2)
	}
	// The minimum pause grows with the attempts, because an unavailable gateway answers fast.
	wait = max(wait, time.Duration(min(attempt, 10))*10*time.Millisecond)
	return time.Duration(float64(wait) * (0.75 + dice.Float64()/2))
}

// parallel sends n copies simultaneously, spread over the senders of the source and over all
// gateways. It returns an acknowledged outcome if there is one.
func (s *Senders) parallel(e *event, n int, dice *rand.Rand) post.Outcome {
	outcomes := make([]post.Outcome, n)
	firstGateway := dice.IntN(len(s.gateways))
	var copies sync.WaitGroup
	for i := range n {
		own := s.roll()
		copies.Go(func() {
			to := s.gateways[(firstGateway+i)%len(s.gateways)]
			outcomes[i] = s.deliver(s.run, delivery{event: e, attempt: 1, to: to, by: s.senderOf(e, i)}, own)
		})
	}
	copies.Wait()
	for _, out := range outcomes {
		if out.Acknowledged {
			return out
		}
	}
	return outcomes[0]
}

// again starts another delivery of a past event, acknowledged or not, or several simultaneous ones.
// If the delivery uses a new id, its event counts as open until the delivery ends.
func (s *Senders) again(e *event, dice *rand.Rand) {
	attempt, opened := 2+dice.IntN(3), int64(0)
	switch n := dice.IntN(10); {
	case n < 2:
		e = e.withOtherBody(dice)
	case n < 4 && !e.source.retries() && !s.duplicatesOnly.Load():
		e, attempt, opened = e.underNewID(s.number.Add(1)), 1, 1
	case n == 4:
		s.sending.Go(func() { s.parallel(e, 2+dice.IntN(6), dice) })
		return
	}
	s.open.Add(opened)
	s.sending.Go(func() {
		defer s.open.Add(-opened)
		s.deliver(s.run, delivery{event: e, attempt: attempt, to: s.anyGateway(dice), by: s.senderOf(e, dice.IntN(2))}, dice)
	})
}

func (s *Senders) anyGateway(dice *rand.Rand) target { return s.gateways[dice.IntN(len(s.gateways))] }

// senderOf returns the i-th sender of the source, counted from the event's own sender.
func (s *Senders) senderOf(e *event, i int) *sender {
	return e.source.senders[(int(e.number)+i)%len(e.source.senders)]
}

// maxPast bounds the number of remembered events, maxPastBody the size of each body, in bytes.
const (
	maxPast     = 4000
	maxPastBody = 32 << 10
)

// past holds events that were sent. When past is full, a new event replaces a random one, so
// that some repeated events are old.
type past struct {
	mu     sync.Mutex
	events []*event
}

func newPast() *past { return &past{} }

func (p *past) add(e *event, dice *rand.Rand) {
	if len(e.body) > maxPastBody {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.events) < maxPast {
		p.events = append(p.events, e)
		return
	}
	p.events[dice.IntN(maxPast)] = e
}

// any returns a random event, or nil if past is empty.
func (p *past) any(dice *rand.Rand) *event {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.events) == 0 {
		return nil
	}
	return p.events[dice.IntN(len(p.events))]
}
