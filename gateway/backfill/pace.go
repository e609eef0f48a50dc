package backfill

import (
	"context"
	"time"
)

const (
	// batchItems is how many items share a transaction. It is small, so that workers finish
	// one batch before the next is stored, and live events find them free.
	batchItems = 16
	// restTimes is the length of the rest after a transaction, as a multiple of its
	// duration: the pass stores events for a twelfth of the time. Each event is also
	// dispatched and delivered: with 4 times, the 99th percentile of live events on two
	// cores doubled. longestRest bounds the rest after a transaction that had to wait.
	restTimes   = 11
	longestRest = time.Second
)

// rest pauses the pass after a transaction that stored events and took some time. Nothing
// waits for these events, but senders wait for live ones meanwhile. ahead is how many
// batches remain to be stored before the budget of the pass ends.
func (p *pass) rest(ctx context.Context, took time.Duration, ahead int) {
	pause := min(restTimes*took, longestRest)
	if deadline, limited := ctx.Deadline(); limited {
		pause = min(pause, affordable(took, time.Until(deadline), ahead))
	}
	if pause > 0 {
		p.b.sleep(ctx, pause)
	}
}

// affordable is the longest rest that still leaves time for the batches ahead, with a rest
// before, between and after them, if each takes as long as the last one.
func affordable(took, left time.Duration, ahead int) time.Duration {
	return (left - time.Duration(ahead)*took) / time.Duration(ahead+1)
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
