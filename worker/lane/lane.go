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
	// lateAfter is what a job waits that had to wait for others: longer than for River's
	// scheduler, which comes every 5 seconds. For lateFor after one came, effects are not
	// attempted as soon as they are dispatched: it is the turn of those that wait.
	lateAfter = 6 * time.Second
	lateFor   = time.Second
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

	births  atomic.Int64 // slots of effects that are attempted as soon as they are dispatched
	waiting atomic.Int64 // runs that wait for one of those
	lateAt  atomic.Int64 // when a job came last that was late, in Unix nanoseconds

	abandoned atomic.Int64 // calls that were abandoned and have not returned; they hold no slot
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
	if l.stuck() {
		return river.JobSnooze(noSlotSnooze)
	}
	select {
	case l.slots <- struct{}{}:
	default:
		if !l.awaitBirth(ctx) {
			return river.JobSnooze(noSlotSnooze)
		}
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

// awaitBirth waits for the slot of an effect that is attempted without a job: River,
// which starts as many runs as there are slots, does not know of it. So no more wait
// than it started too many. It reports whether there was a slot.
func (l *lane) awaitBirth(ctx context.Context) bool {
	defer l.waiting.Add(-1)
	if l.waiting.Add(1) > l.births.Load() {
		return false
	}
	timer := time.NewTimer(noSlotSnooze)
	defer timer.Stop()
	select {
	case l.slots <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// noteWait learns how long a job waited that comes now.
func (l *lane) noteWait(waited time.Duration) {
	if waited > lateAfter {
		l.lateAt.Store(time.Now().UnixNano())
	}
}

// beginBirth takes a slot for an effect that is about to be dispatched, and reports
// whether one was free: while a job waits, here or behind others in the queue, the next
// slot is that job's. Whoever has it must call endBirth.
func (l *lane) beginBirth(now time.Time) bool {
	if l.stuck() || l.waiting.Load() > 0 || now.UnixNano()-l.lateAt.Load() < int64(lateFor) {
		return false
	}
	l.births.Add(1)
	select {
	case l.slots <- struct{}{}:
		return true
	default:
		l.births.Add(-1)
		return false
	}
}

func (l *lane) endBirth() {
	<-l.slots
	l.births.Add(-1)
}

// room is how many more runs of the destination could begin now.
func (l *lane) room(now time.Time) int {
	if l.stuck() || now.UnixNano() < l.noToken.Load() {
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
