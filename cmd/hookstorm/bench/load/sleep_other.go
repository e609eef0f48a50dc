//go:build !linux

package load

import (
	"context"
	"time"
)

// sleepUntil sleeps as precisely as Go's timers allow.
func sleepUntil(ctx context.Context, at time.Time) {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
