package lane

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"

	"github.com/hooklatch/hooklatch/internal/retry"
)

const (
	// usualRateWait is the maximum time that a job waits for a rate token, unless the rate is very
	// low. A destination has at most as many slots as there are tokens in this time.
	usualRateWait = 10 * time.Second
	// maxRateWait is the longest wait, for rates below one token in usualRateWait. A job whose
	// token becomes valid later is snoozed.
	maxRateWait = time.Minute
	// prefetchSpan limits the number of tokens that a process takes in one statement: the tokens of
	// this time span, but at least one. A process that takes tokens first delays the tokens of each
	// later process by at most this time, or by one interval at a low rate.
	prefetchSpan = 100 * time.Millisecond
	// tokenLife is the time that an unused token stays valid after it was due.
	tokenLife = time.Second
)

// fleetRate hands out the tokens of a rate that all processes share. One job at a time takes
// tokens from the database, for itself and for the jobs that wait with it. More tokens are taken
// only when these tokens are due.
type fleetRate struct {
	take     func(ctx context.Context, n int, patience time.Duration) (wait time.Duration, taken bool, err error)
	interval time.Duration // between two tokens
	prefetch int           // maximum number of tokens taken together
	patience time.Duration // maximum wait of a job for its token

	waiting atomic.Int32
	turn    chan struct{} // holds a value while a job uses the fields below
	held    []time.Time   // unused tokens, as the times from which they are valid
	due     time.Time     // due time of the last token handed out
}

func newFleetRate(o Options, take Take) *fleetRate {
	return &fleetRate{
		take: func(ctx context.Context, n int, patience time.Duration) (time.Duration, bool, error) {
			return take(ctx, o.Name, float64(o.Rate), o.Burst, n, patience)
		},
		interval: time.Duration(float64(time.Second) / float64(o.Rate)),
		prefetch: max(1, int(float64(o.Rate)*prefetchSpan.Seconds())),
		patience: o.LongestWait(),
		turn:     make(chan struct{}, 1),
	}
}

// wait takes a token, and returns when the job may start. Its error is a snooze of the job, ctx's
// error, or the error of the database.
func (r *fleetRate) wait(ctx context.Context) error {
	patience, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	due, err := r.token(patience)
	if err != nil {
		if ctx.Err() == nil && patience.Err() != nil {
			return river.JobSnooze(NoSlotSnooze)
		}
		return err
	}
	if err := retry.Wait(ctx, time.Until(due)); err != nil {
		r.giveBack(due)
		return err
	}
	return nil
}

// token waits for the job's turn and returns the time at which the job may start.
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
		// The token is kept for a job that asks later, when the token is due.
		return time.Time{}, river.JobSnooze(time.Until(next))
	}
	r.held, r.due = r.held[1:], next
	return next, nil
}

// refill takes tokens for the waiting jobs. The database returns the time at which the last token
// becomes valid; the other tokens become valid before it, one per interval. If the last token
// becomes valid later than the job can wait, refill takes none and returns a snooze: another
// process may have the job by then.
func (r *fleetRate) refill(ctx context.Context) error {
	n := min(max(1, int(r.waiting.Load())), r.prefetch)
	patience := r.patience
	if deadline, ok := ctx.Deadline(); ok {
		patience = time.Until(deadline)
	}
	wait, taken, err := r.take(ctx, n, patience)
	if err != nil {
		return err
	}
	if !taken {
		return river.JobSnooze(wait)
	}
	now := time.Now()
	for i := range n {
		r.held = append(r.held, now.Add(max(0, wait-time.Duration(n-1-i)*r.interval)))
	}
	return nil
}

// giveBack puts back the token of a job that started no attempt.
func (r *fleetRate) giveBack(due time.Time) {
	select {
	case r.turn <- struct{}{}:
	default:
		return // another job is taking tokens, so give up this one token
	}
	defer func() { <-r.turn }()
	r.held = append([]time.Time{due}, r.held...)
}
