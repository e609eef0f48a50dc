package worker

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
)

const (
	// noSlotSnooze is when a job looks again for a free slot or a rate token of its
	// destination. Slots run out only where destinations share a queue: River starts
	// no more runs of a queue than its destinations have slots together.
	noSlotSnooze = time.Second
	// asideSettles is longer than River takes to write that a job was snoozed.
	asideSettles = 5 * time.Second
)

// refetchSlack is what an attempt may take beside the call to read the current
// state of its object.
const refetchSlack = 5 * time.Second

// lane is one destination in this process: its limits and its way out.
type lane struct {
	DestinationOptions

	slots   chan struct{}
	rate    *fleetRate // nil without one
	breaker *breaker

	asideAt atomic.Int64 // when a job was set aside last, in Unix nanoseconds
	noToken atomic.Int64 // until when there is no token for another run
	arrived atomic.Int64 // runs that asked for a slot, ever
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
	l.arrived.Add(1)
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

// room is how many more runs of the destination could begin now.
func (l *lane) room(now time.Time) int {
	if now.UnixNano() < l.noToken.Load() {
		return 0
	}
	return cap(l.slots) - len(l.slots)
}

// hasAside tells whether a job was set aside that the database may not show yet.
func (l *lane) hasAside(now time.Time) bool {
	return now.UnixNano()-l.asideAt.Load() < int64(asideSettles)
}

// leave frees the slot. A run that started no attempt leaves its token to another.
func (l *lane) leave(unused bool) {
	<-l.slots
	if unused && l.rate != nil {
		l.rate.giveBack(time.Now())
	}
}
