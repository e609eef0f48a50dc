// Package drain waits, with a deadline, until running work has ended.
package drain

import (
	"context"
	"sync"
)

// Wait returns once all of underway has ended. Errors: that of ctx, if it is done first;
// the work then continues. Nothing may join an empty group after Wait was called.
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
	case <-ended: // simultaneously with ctx
		return nil
	default:
		return ctx.Err()
	}
}
