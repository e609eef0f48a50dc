// Package retry yields the pauses between the tries of one operation.
package retry

import (
	"context"
	"iter"
	"math/rand/v2"
	"time"
)

// Pauses are those between two tries: First after the first, each twice as long
// as the one before, up to Max.
type Pauses struct {
	First, Max time.Duration
	// Spread makes each last 50 to 150 %, so that those who failed together do not
	// come back together.
	Spread bool
	// Tries bounds how often something is tried; 0: until the context is done.
	Tries int
}

// Until yields, once for each try, the pause that follows unless the loop is left,
// and waits it. It ends after the last try, or as soon as ctx is done, but never
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

// Wait lets d pass. Errors: that of ctx, when it is done before.
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
