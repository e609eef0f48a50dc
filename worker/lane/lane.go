// Package lane limits the attempts of one destination in one process, by slots, rate, and the
// breaker that detects when the destination is down. Package worker sends every attempt through a
// Lane.
package lane

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"

	"github.com/hooklatch/hooklatch/internal/rate"
)

const (
	// NoSlotSnooze is the snooze of a job that got no slot or no rate token in time. It is also the
	// snooze of a job that finds no place to wait for a slot, or whose lane is Stuck. Places run
	// out only if destinations share a queue: River starts no more jobs of a queue than its
	// destinations have places in total.
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
	// Name is the name of the destination.
	Name string
	// Concurrency is the maximum number of simultaneous calls in this process.
	Concurrency int
	// Rate is the maximum number of attempts per second, in all processes together. 0: no limit.
	Rate rate.PerSecond
	// Burst is the maximum number of attempts that start immediately after a quiet time, if there
	// is a Rate.
	Burst int
	// Hold is the maximum time that an attempt holds its slot.
	Hold time.Duration
	// Breaker decides when the destination is down. Its defaults must be filled in.
	Breaker Breaker
}

// Take takes n tokens of a destination's rate, which all processes share, and returns the wait
// until the last of them is valid. If the wait is longer than patience, nothing is taken. See
// fleet.Fleet.TakeTokens.
type Take func(ctx context.Context, destination string, perSecond float64, burst, n int, patience time.Duration) (wait time.Duration, taken bool, err error)

// Lane limits the attempts of one destination in this process. It is safe for concurrent use.
type Lane struct {
	*breaker

	name   string
	slots  chan struct{}
	ahead  int64         // number of jobs that may wait for a slot
	hold   time.Duration // maximum wait for a slot
	rate   *fleetRate    // nil without a rate
	closed chan struct{}
	close  func()

	asideAt atomic.Int64 // last time a job was set aside, in Unix nanoseconds
	noToken atomic.Int64 // no token is valid before this time, in Unix nanoseconds
	arrived atomic.Int64 // number of jobs that ever asked for a slot

	firsts  atomic.Int64 // first attempts that began with their dispatch and have not ended
	waiting atomic.Int64 // jobs that wait for a slot
	lateAt  atomic.Int64 // last time a late job started, in Unix nanoseconds

	abandoned atomic.Int64 // abandoned calls that have not returned; they hold no slot
}

// New returns a lane, which calls take to get tokens of its rate. Without a rate, take may be
// nil.
func New(opts Options, take Take) *Lane {
	l := &Lane{
		name: opts.Name, slots: make(chan struct{}, opts.Workers()), ahead: int64(opts.ahead()), hold: cmp.Or(opts.Hold, NoSlotSnooze),
		closed: make(chan struct{}), breaker: newBreaker(opts.Breaker, time.Now),
	}
	l.close = sync.OnceFunc(func() { close(l.closed) })
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

// ahead returns the number of jobs that are fetched before they have a slot, so that no slot
// waits for a fetch. A lane with a rate needs no such jobs, because a job holds its slot while
// it waits for a rate token.
func (o Options) ahead() int {
	if o.Rate > 0 {
		return 0
	}
	return o.Concurrency / 2
}

// Jobs returns the number of jobs that a process may fetch: one for each slot, plus the jobs
// ahead.
func (o Options) Jobs() int { return o.Workers() + o.ahead() }

// LongestWait returns the maximum time that Enter waits for a slot or a rate token.
func (o Options) LongestWait() time.Duration {
	if o.Rate == 0 {
		// takeSlot snoozes a job that found no slot within this time. Every slot becomes free
		// within this time.
		return o.Hold
	}
	wait := time.Duration(float64(o.Workers()) / float64(o.Rate) * float64(time.Second))
	return min(max(wait, usualRateWait), maxRateWait)
}

// Enter waits for a slot and a rate token. The caller must call Leave if, and only if, Enter
// returns nil. Enter's error is a snooze of the job, or the error of ctx or the database. A snooze of
// 0 leaves the job to another process, because this process is stopping.
func (l *Lane) Enter(ctx context.Context) error {
	l.arrived.Add(1)
	if l.Stuck() {
		return river.JobSnooze(NoSlotSnooze)
	}
	if err := l.takeSlot(ctx); err != nil {
		return err
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

// takeSlot waits for a slot, if the job may wait. As many jobs may wait as are fetched ahead, plus
// one for each first attempt that began with its dispatch: River does not count such attempts.
func (l *Lane) takeSlot(ctx context.Context) error {
	select {
	case <-l.closed:
		return river.JobSnooze(0)
	default:
	}
	select {
	case l.slots <- struct{}{}:
		return nil
	default:
	}
	defer l.waiting.Add(-1)
	if l.waiting.Add(1) > l.firsts.Load()+l.ahead {
		return river.JobSnooze(NoSlotSnooze)
	}
	timer := time.NewTimer(l.hold)
	defer timer.Stop()
	select {
	case l.slots <- struct{}{}:
		return nil
	case <-timer.C:
		return river.JobSnooze(NoSlotSnooze)
	case <-l.closed:
		return river.JobSnooze(0)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close makes Enter return without a slot for every job that waits for one, and for every
// later job. It may be called more than once.
func (l *Lane) Close() { l.close() }

// NoteWait records the start of a job that waited longer than lateAfter.
func (l *Lane) NoteWait(waited time.Duration) {
	if waited > lateAfter {
		l.lateAt.Store(time.Now().UnixNano())
	}
}

// unsettledPerSlot is the number of first attempts per slot that may wait to be settled after their
// calls have ended. One more first attempt per slot may be in its call.
const unsettledPerSlot = 3

// First is the slot of a first attempt that began with its dispatch.
type First struct {
	lane   *Lane
	called atomic.Bool
}

// BeginFirst takes a slot for the first attempt of an effect that is about to be dispatched, and
// reports whether it got the slot. While a job waits, here or in the queue, the next slot belongs
// to that job. The caller must call End if BeginFirst returns true.
func (l *Lane) BeginFirst(now time.Time) (_ *First, begins bool) {
	if l.Stuck() || l.waiting.Load() > 0 || now.UnixNano()-l.lateAt.Load() < int64(lateFor) {
		return nil, false
	}
	if l.firsts.Add(1) > int64((1+unsettledPerSlot)*cap(l.slots)) {
		l.firsts.Add(-1)
		return nil, false
	}
	select {
	case l.slots <- struct{}{}:
		return &First{lane: l}, true
	default:
		l.firsts.Add(-1)
		return nil, false
	}
}

// Called frees the slot: the call has ended, and its settlement needs no slot.
func (f *First) Called() {
	if !f.called.Swap(true) {
		<-f.lane.slots
	}
}

// End records that the attempt is settled or given up. It also frees the slot, if Called has not.
func (f *First) End() {
	f.Called()
	f.lane.firsts.Add(-1)
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

// Leave frees the slot. If unused is true, no attempt was started, and Leave also gives back the
// rate token.
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
	// LeastAbandoned is the smallest number of abandoned calls at which a destination is Stuck.
	// For destinations with many slots, the number is abandonedPerSlot for each slot. An abandoned
	// call holds a goroutine and the body of its effect.
	LeastAbandoned   = 32
	abandonedPerSlot = 4
)

// Abandon records that a call has not returned in time and was abandoned.
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
