package worker

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"

	"github.com/hooklatch/hooklatch/internal/retry"
)

const (
	// usualRateWait is how long runs wait for a rate token. No more runs start at
	// once than there are tokens in that time.
	usualRateWait = 10 * time.Second
	// maxRateWait bounds the wait at rates below one in usualRateWait. A token
	// that is further away snoozes its job.
	maxRateWait = time.Minute
	// prefetchSpan is how much of a rate one process takes at once. A token waits
	// at most that long for those that each other process took before it.
	prefetchSpan = 100 * time.Millisecond
	// tokenLife is how long a token that was due and not used remains valid.
	tokenLife = time.Second
)

// fleetRate hands out the tokens of a rate that holds for all processes. One
// run at a time takes some from the ledger, for itself and for the runs that wait
// with it; no more are taken before these are due.
type fleetRate struct {
	take     func(ctx context.Context, n int) (wait time.Duration, err error)
	interval time.Duration // between two tokens
	prefetch int           // tokens taken at once
	patience time.Duration // of a run, for its token

	waiting atomic.Int32
	turn    chan struct{} // holds its owner's right to what follows
	held    []time.Time   // tokens that are not used yet, and when each may be
	due     time.Time     // of the last token handed out
}

func newFleetRate(d DestinationOptions, take takeTokens) *fleetRate {
	return &fleetRate{
		take: func(ctx context.Context, n int) (time.Duration, error) {
			return take(ctx, d.Name, float64(d.Rate), d.Burst, n)
		},
		interval: time.Duration(float64(time.Second) / float64(d.Rate)),
		prefetch: max(1, int(float64(d.Rate)*prefetchSpan.Seconds())),
		patience: d.longestWait(),
		turn:     make(chan struct{}, 1),
	}
}

// wait returns when the run may start, having used a token. Its error is a
// snooze, or that of ctx.
func (r *fleetRate) wait(ctx context.Context) error {
	patience, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	due, err := r.token(patience)
	if err != nil {
		if ctx.Err() == nil && patience.Err() != nil {
			return river.JobSnooze(noSlotSnooze)
		}
		return err
	}
	if err := retry.Wait(ctx, time.Until(due)); err != nil {
		r.giveBack(due)
		return err
	}
	return nil
}

// token waits until it is the run's turn and returns when it may start.
func (r *fleetRate) token(ctx context.Context) (time.Time, error) {
	r.waiting.Add(1)
	defer r.waiting.Add(-1)
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
	defer func() { <-r.turn }()

	now := time.Now()
	for len(r.held) > 0 && now.Sub(r.held[0]) > tokenLife {
		r.held = r.held[1:]
	}
	if len(r.held) == 0 {
		if err := retry.Wait(ctx, time.Until(r.due)); err != nil {
			return time.Time{}, err
		}
		if err := r.refill(ctx); err != nil {
			return time.Time{}, err
		}
	}
	next := r.held[0]
	if deadline, ok := ctx.Deadline(); ok && next.After(deadline) {
		// The token stays for a run that comes when it is due.
		return time.Time{}, river.JobSnooze(time.Until(next))
	}
	r.held, r.due = r.held[1:], next
	return next, nil
}

// refill takes tokens for the runs that wait. The ledger says when the last of
// them may be used; the others are spread over the time before.
func (r *fleetRate) refill(ctx context.Context) error {
	n := min(max(1, int(r.waiting.Load())), r.prefetch)
	wait, err := r.take(ctx, n)
	if err != nil {
		return err
	}
	now := time.Now()
	for i := range n {
		r.held = append(r.held, now.Add(max(0, wait-time.Duration(n-1-i)*r.interval)))
	}
	return nil
}

// giveBack returns the token of a run that started nothing.
func (r *fleetRate) giveBack(due time.Time) {
	select {
	case r.turn <- struct{}{}:
	default:
		return // another run is taking tokens just now; this is only one
	}
	defer func() { <-r.turn }()
	r.held = append([]time.Time{due}, r.held...)
}
