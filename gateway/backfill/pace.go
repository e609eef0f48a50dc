package backfill

import (
	"context"
	"time"
)

const (
	// batchItems is how many items share a transaction. Few do, so that workers are done
	// with one batch before the next is stored, and live events find them free.
	batchItems = 16
	// restTimes is how many times as long as a transaction a pass rests after it: the pass
	// stores events for a twelfth of the time. Each of them is dispatched and delivered as
	// well: with 4 times, the 99th percentile of live events on two cores doubled.
	// longestRest bounds the rest after a transaction that had to wait.
	restTimes   = 11
	longestRest = time.Second
)

// rest pauses the pass after a transaction that took some time and stored events: nobody
// waits for them, but callers wait for what comes live meanwhile. ahead is how many
// batches are still to be stored before the budget of the pass ends.
func (p *pass) rest(ctx context.Context, took time.Duration, ahead int) {
	pause := min(restTimes*took, longestRest)
	if deadline, limited := ctx.Deadline(); limited {
		pause = min(pause, affordable(took, time.Until(deadline), ahead))
	}
	if pause > 0 {
		p.b.sleep(ctx, pause)
	}
}

// affordable is the rest after each of the batches ahead, and before them, for which there
// is time if each takes as long as the last one.
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
