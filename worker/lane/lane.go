// Package lane limits the attempts of one destination in one process, by slots, rate, and the
// breaker that detects when the destination is down. Package worker sends every attempt through a
// Lane.
package lane

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"

	"github.com/hooklatch/hooklatch/internal/rate"
)

const (
	// NoSlotSnooze is the wait of a job that found no free slot or rate token. Slots run out only
	// if destinations share a queue: River starts no more jobs of a queue than its destinations
	// have slots in total.
	NoSlotSnooze = time.Second
	// asideSettles is longer than River takes to store a job's snooze.
	asideSettles = 5 * time.Second
	// lateAfter is the minimum wait of a job that counts as late. It is longer than a round of
	// River's scheduler, which runs every 5 seconds. For lateFor after a late job started, no
	// effect is attempted together with its dispatch: the waiting jobs go first.
	lateAfter = 6 * time.Second
	lateFor   = time.Second
)

// Options are the limits of a destination.
type Options struct {
	// Name of the destination.
	Name string
	// Concurrency is the maximum number of simultaneous attempts in this process.
	Concurrency int
	// Rate is the maximum number of attempts per second, in all processes together. 0: no limit.
	Rate rate.PerSecond
	// Burst is the maximum number of attempts that start immediately after a pause, if there is a
	// Rate.
	Burst int
	// Breaker decides when the destination is down. Its defaults must be filled in.
	Breaker Breaker
}

// Take takes n tokens of a destination's rate, which all processes share, and returns the wait
// until the last of them is valid. See fleet.Fleet.TakeTokens.
type Take func(ctx context.Context, destination string, perSecond float64, burst, n int) (wait time.Duration, err error)

// Lane is one destination in this process. It is safe for concurrent use.
type Lane struct {
	*breaker

	name  string
	slots chan struct{}
	rate  *fleetRate // nil without a rate

	asideAt atomic.Int64 // last time a job was set aside, in Unix nanoseconds
	noToken atomic.Int64 // no token is left before this time, in Unix nanoseconds
	arrived atomic.Int64 // number of jobs that ever asked for a slot

	firsts  atomic.Int64 // slots of first attempts that began with their dispatch
	waiting atomic.Int64 // jobs that wait for a first attempt's slot
	lateAt  atomic.Int64 // last time a late job started, in Unix nanoseconds

	abandoned atomic.Int64 // abandoned calls that have not returned; they hold no slot
}

// New returns a lane. It calls take for the tokens of its rate; without a rate take may be nil.
func New(opts Options, take Take) *Lane {
	l := &Lane{name: opts.Name, slots: make(chan struct{}, opts.Workers()), breaker: newBreaker(opts.Breaker, time.Now)}
	if opts.Rate > 0 {
		l.rate = newFleetRate(opts, take)
	}
	return l
}

// Taken returns the number of slots in use.
func (l *Lane) Taken() int { return len(l.slots) }

// Limited reports whether an attempt needs a token of the destination's rate.
func (l *Lane) Limited() bool { return l.rate != nil }

// Workers returns the number of slots.
func (o Options) Workers() int {
	if o.Rate == 0 {
		return o.Concurrency
	}
	return min(o.Concurrency, max(1, int(float64(o.Rate)*usualRateWait.Seconds())))
}

// LongestWait returns the maximum time that Enter waits for a rate token.
func (o Options) LongestWait() time.Duration {
	if o.Rate == 0 {
		return 0
	}
	wait := time.Duration(float64(o.Workers()) / float64(o.Rate) * float64(time.Second))
	return min(max(wait, usualRateWait), maxRateWait)
}

// Enter waits for a slot and a rate token. The caller must call Leave if, and only if, Enter
// returns nil. Its error is a snooze of the job, or the error of ctx.
func (l *Lane) Enter(ctx context.Context) error {
	l.arrived.Add(1)
	if l.Stuck() {
		return river.JobSnooze(NoSlotSnooze)
	}
	select {
	case l.slots <- struct{}{}:
	default:
		if !l.awaitFirst(ctx) {
			return river.JobSnooze(NoSlotSnooze)
		}
	}
	if l.rate == nil {
		return nil
	}
	if err := l.rate.wait(ctx); err != nil {
		l.Leave(false)
		return err
	}
	return nil
}

// awaitFirst waits for the slot of a first attempt that began with its dispatch, and reports
// whether it got the slot. River does not know of these attempts and starts as many jobs as there
// are slots. Only the excess jobs wait.
func (l *Lane) awaitFirst(ctx context.Context) bool {
	defer l.waiting.Add(-1)
	if l.waiting.Add(1) > l.firsts.Load() {
		return false
	}
	timer := time.NewTimer(NoSlotSnooze)
	defer timer.Stop()
	select {
	case l.slots <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// NoteWait records a job's wait before its start.
func (l *Lane) NoteWait(waited time.Duration) {
	if waited > lateAfter {
		l.lateAt.Store(time.Now().UnixNano())
	}
}

// BeginFirst takes a slot for the first attempt of an effect that is about to be dispatched, and
// reports whether it got the slot. While a job waits, here or in the queue, the next slot belongs
// to that job. The caller must call EndFirst if BeginFirst returns true.
func (l *Lane) BeginFirst(now time.Time) bool {
	if l.Stuck() || l.waiting.Load() > 0 || now.UnixNano()-l.lateAt.Load() < int64(lateFor) {
		return false
	}
	l.firsts.Add(1)
	select {
	case l.slots <- struct{}{}:
		return true
	default:
		l.firsts.Add(-1)
		return false
	}
}

// EndFirst frees a slot that BeginFirst took.
func (l *Lane) EndFirst() {
	<-l.slots
	l.firsts.Add(-1)
}

// Room returns the number of the destination's jobs that could start now.
func (l *Lane) Room(now time.Time) int {
	if l.Stuck() || now.UnixNano() < l.noToken.Load() {
		return 0
	}
	return cap(l.slots) - len(l.slots)
}

// hasAside reports whether a job was set aside so recently that the database may not show it yet.
func (l *Lane) hasAside(now time.Time) bool {
	return now.UnixNano()-l.asideAt.Load() < int64(asideSettles)
}

// Leave frees the slot. If unused, no attempt was started, and the rate token goes to another job.
func (l *Lane) Leave(unused bool) {
	<-l.slots
	if unused && l.rate != nil {
		l.rate.giveBack(time.Now())
	}
}

// SetAside records that a job was set aside now.
func (l *Lane) SetAside() { l.asideAt.Store(time.Now().UnixNano()) }

// NoTokenFor records that the next rate token is d away.
func (l *Lane) NoTokenFor(d time.Duration) { l.noToken.Store(time.Now().Add(d).UnixNano()) }

const (
	// LeastAbandoned is the number of abandoned calls at which a destination may be Stuck.
	// Destinations with many slots may have abandonedPerSlot for each slot. An abandoned call holds
	// a goroutine and the body of its effect.
	LeastAbandoned   = 32
	abandonedPerSlot = 4
)

// Abandon records that a call was abandoned: its sender has not returned in time.
func (l *Lane) Abandon() { l.abandoned.Add(1) }

// Abandoned returns the number of abandoned calls that have not returned.
func (l *Lane) Abandoned() int64 { return l.abandoned.Load() }

// Returned records that an abandoned call has returned.
func (l *Lane) Returned() { l.abandoned.Add(-1) }

// Stuck reports whether so many calls were abandoned that no attempt may start. More abandoned
// calls would use up this process's memory.
func (l *Lane) Stuck() bool {
	return l.abandoned.Load() >= int64(max(LeastAbandoned, abandonedPerSlot*cap(l.slots)))
}
