// Package throttle paces what an operator does to many.
package throttle

import (
	"context"
	"time"
)

// Throttle lets one through at once and the next when its time has come.
type Throttle struct {
	ticker *time.Ticker
	first  bool
}

// New lets perSecond through in a second; 0 is without a limit.
func New(perSecond float64) *Throttle {
	if perSecond <= 0 {
		return &Throttle{}
	}
	return &Throttle{ticker: time.NewTicker(max(time.Duration(float64(time.Second)/perSecond), time.Microsecond)), first: true}
}

// Wait returns when the next may go, or with the cause for which ctx ended. One
// goroutine calls it.
func (t *Throttle) Wait(ctx context.Context) error {
	if t.ticker == nil || t.first {
		t.first = false
		return context.Cause(ctx)
	}
	select {
	case <-t.ticker.C:
		return context.Cause(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stop frees the ticker. It does not wake up a Wait.
func (t *Throttle) Stop() {
	if t.ticker != nil {
		t.ticker.Stop()
	}
}
