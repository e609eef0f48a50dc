package outbox

import (
	"context"
	"time"
)

// throttle lets one through at once and the next when its time has come.
type throttle struct {
	ticker *time.Ticker
	first  bool
}

func newThrottle(perSecond float64) *throttle {
	if perSecond <= 0 {
		return &throttle{}
	}
	return &throttle{ticker: time.NewTicker(max(time.Duration(float64(time.Second)/perSecond), time.Microsecond)), first: true}
}

func (t *throttle) wait(ctx context.Context) error {
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

func (t *throttle) stop() {
	if t.ticker != nil {
		t.ticker.Stop()
	}
}
