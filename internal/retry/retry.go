// Package retry yields the pauses between an operation's tries.
package retry

import (
	"context"
	"iter"
	"math/rand/v2"
	"time"
)

// Pauses defines the pauses between tries: First after the first try, then each twice as long
// as the previous one, up to Max.
type Pauses struct {
	First, Max time.Duration
	// Spread makes each pause last 50 to 150 % of its normal length, so that callers that failed
	// simultaneously do not try again simultaneously.
	Spread bool
	// Tries limits the number of tries; 0: until the context is done.
	Tries int
}

// Until yields once for each try. The value is the pause after the try; Until waits for that pause
// unless the loop is left. The loop ends after the last try, or as soon as ctx is done, but never
// before the first try:
//
//	for range pauses.Until(ctx) {
//		if err = operation(ctx); err == nil || !transient(err) {
//			return err
//		}
//	}
//	return err // of the last try
func (p Pauses) Until(ctx context.Context) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		next := p.First
		for try := 1; ; try++ {
			pause := next
			if p.Spread {
				pause = next/2 + rand.N(next) //nolint:gosec // no secret depends on it
			}
			if !yield(pause) || try == p.Tries || Wait(ctx, pause) != nil {
				return
			}
			next = min(2*next, max(p.Max, p.First))
		}
	}
}

// Wait waits for d. If ctx is done first, it returns ctx's error.
func Wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
