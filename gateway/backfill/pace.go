package backfill

import (
	"context"
	"time"
)

const (
	// batchItems is the maximum number of items per transaction. It is small, so that workers
	// finish one batch before the next is stored, and stay free for live events.
	batchItems = 16
	// restTimes is the rest after a transaction, as a multiple of the transaction's duration. The
	// pass therefore stores events for only a twelfth of the time, unless longestRest or the budget
	// shortens the rests. Each stored event must also be dispatched and delivered. With a factor of
	// 4, the 99th percentile of live events' latency doubled on two cores. longestRest keeps the
	// rest short after a transaction that was slow because it had to wait.
	restTimes   = 11
	longestRest = time.Second
)

// rest pauses the pass after a transaction. A sender waits for each live event, but not for a
// backfilled one. If took is 0, the transaction stored no event, and rest returns at once.
// Otherwise, took is the transaction's duration. The argument ahead is the number of batches that
// must still be stored before the budget is used up.
func (p *pass) rest(ctx context.Context, took time.Duration, ahead int) {
	pause := min(restTimes*took, longestRest)
	if deadline, limited := ctx.Deadline(); limited {
		pause = min(pause, affordable(took, time.Until(deadline), ahead))
	}
	if pause > 0 {
		p.b.sleep(ctx, pause)
	}
}

// affordable returns the longest rest that still leaves time for the batches ahead. It assumes that
// each of these batches takes as long as the last one. One such rest precedes the first batch, and
// one follows each batch.
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
