package load

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// longest bounds one sleep, so that sleepUntil notices the end of its context.
const longest = 50 * time.Millisecond

// sleepUntil sleeps in the kernel. Go's own timers are up to a millisecond late, which is
// half the latency of a server with little to do.
func sleepUntil(ctx context.Context, at time.Time) {
	for ctx.Err() == nil {
		left := time.Until(at)
		if left <= 0 {
			return
		}
		pause := unix.NsecToTimespec(int64(min(left, longest)))
		_ = unix.Nanosleep(&pause, nil) // an interrupted sleep is continued
	}
}
