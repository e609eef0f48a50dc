package worker

import (
	"context"
	"time"

	"github.com/riverqueue/river"
)

// noSlotSnooze is when a job looks again for a free slot or a rate token of its
// destination. Slots run out only where destinations share a queue: River starts
// no more runs of a queue than its destinations have slots together.
const noSlotSnooze = time.Second

// refetchSlack is what an attempt may take beside the call to read the current
// state of its object.
const refetchSlack = 5 * time.Second

// lane is one destination in this process: its limits and its way out.
type lane struct {
	DestinationOptions

	slots   chan struct{}
	rate    *fleetRate // nil without one
	breaker *breaker
}

// takeTokens is outbox.Outbox.TakeTokens.
type takeTokens func(ctx context.Context, destination string, perSecond float64, burst, n int) (wait time.Duration, err error)

func newLane(d DestinationOptions, take takeTokens) *lane {
	l := &lane{DestinationOptions: d, slots: make(chan struct{}, d.workers()), breaker: newBreaker(d.Breaker, time.Now)}
	if d.Rate > 0 {
		l.rate = newFleetRate(d, take)
	}
	return l
}

// workers is how many runs of the destination this process starts at once.
func (d DestinationOptions) workers() int {
	if d.Rate == 0 {
		return d.Concurrency
	}
	return min(d.Concurrency, max(1, int(float64(d.Rate)*usualRateWait.Seconds())))
}

// longestWait is how long a run may wait for its rate token.
func (d DestinationOptions) longestWait() time.Duration {
	if d.Rate == 0 {
		return 0
	}
	wait := time.Duration(float64(d.workers()) / float64(d.Rate) * float64(time.Second))
	return min(max(wait, usualRateWait), maxRateWait)
}

// lease is how long an attempt holds its effect: reading the current state, the
// call and its settlement.
func (d DestinationOptions) lease() time.Duration { return refetchSlack + d.Timeout + ledgerSlack }

// enter waits for a slot and a rate token. The caller must call leave if, and only
// if, it returns nil. Its error ends the run: it is a snooze, or that of ctx.
func (l *lane) enter(ctx context.Context) error {
	select {
	case l.slots <- struct{}{}:
	default:
		return river.JobSnooze(noSlotSnooze)
	}
	if l.rate == nil {
		return nil
	}
	if err := l.rate.wait(ctx); err != nil {
		l.leave(false)
		return err
	}
	return nil
}

// leave frees the slot. A run that started no attempt leaves its token to another.
func (l *lane) leave(unused bool) {
	<-l.slots
	if unused && l.rate != nil {
		l.rate.giveBack(time.Now())
	}
}
