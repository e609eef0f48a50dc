package worker

import (
	"context"
	"time"

	"github.com/riverqueue/river"
	"golang.org/x/time/rate"
)

const (
	// usualRateWait is how long runs wait for a rate token: no more of them run
	// at once than get theirs in that time.
	usualRateWait = 10 * time.Second
	// maxRateWait bounds the wait at rates below one in usualRateWait. A token
	// that is further away snoozes its job.
	maxRateWait = time.Minute
	// noSlotSnooze is when a job looks again for a free slot of its
	// destination. Only destinations that share a queue run out of slots.
	noSlotSnooze = time.Second
	// unlimitedBurst is irrelevant: rate.Inf lets everything through.
	unlimitedBurst = 1
)

// lane is one destination in this process: its limits and its way out.
type lane struct {
	Destination

	slots   chan struct{}
	limiter *rate.Limiter
}

func newLane(d Destination) *lane {
	limiter := rate.NewLimiter(rate.Inf, unlimitedBurst)
	if d.Rate > 0 {
		limiter = rate.NewLimiter(rate.Limit(d.Rate), d.Burst)
	}
	return &lane{Destination: d, slots: make(chan struct{}, d.workers()), limiter: limiter}
}

// workers is how many runs of the destination this process starts at once.
func (d Destination) workers() int {
	if d.Rate == 0 {
		return d.Concurrency
	}
	return min(d.Concurrency, max(1, int(d.Rate*usualRateWait.Seconds())))
}

// longestWait is how long a run may wait for its rate token.
func (d Destination) longestWait() time.Duration {
	if d.Rate == 0 {
		return 0
	}
	wait := time.Duration(float64(d.workers()) / d.Rate * float64(time.Second))
	return min(max(wait, usualRateWait), maxRateWait)
}

// lease is how long an attempt holds its effect: the call and its settlement.
func (l *lane) lease() time.Duration { return l.Timeout + ledgerSlack }

// enter waits for a slot and a rate token. The caller calls leave exactly when
// it returns nil; any error ends the run, as a snooze or with ctx.
func (l *lane) enter(ctx context.Context) error {
	select {
	case l.slots <- struct{}{}:
	default:
		return river.JobSnooze(noSlotSnooze)
	}
	if err := l.waitForToken(ctx); err != nil {
		l.leave()
		return err
	}
	return nil
}

func (l *lane) leave() { <-l.slots }

func (l *lane) waitForToken(ctx context.Context) error {
	token := l.limiter.Reserve()
	wait := token.Delay()
	if wait == 0 {
		return nil
	}
	if wait > l.longestWait() {
		token.Cancel()
		return river.JobSnooze(wait)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		token.Cancel()
		return ctx.Err()
	}
}
