// Package throttle is responsible for the pace of what a person orders about many.
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

func New(perSecond float64) *Throttle {
	if perSecond <= 0 {
		return &Throttle{}
	}
	return &Throttle{ticker: time.NewTicker(max(time.Duration(float64(time.Second)/perSecond), time.Microsecond)), first: true}
}

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

func (t *Throttle) Stop() {
	if t.ticker != nil {
		t.ticker.Stop()
	}
}
