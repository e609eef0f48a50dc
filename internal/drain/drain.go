// Package drain waits, with a deadline, until running work has finished.
package drain

import (
	"context"
	"sync"
)

// Wait returns once all work in underway has finished. If ctx is done first, it returns ctx's
// error, and the work continues. From the call on, no work may be added while the group is empty.
func Wait(ctx context.Context, underway *sync.WaitGroup) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		underway.Wait()
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-ended: // the work finished at the same moment
		return nil
	default:
		return ctx.Err()
	}
}
