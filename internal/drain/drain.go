// Package drain waits, with a deadline, until work under way has ended.
package drain

import (
	"context"
	"sync"
)

// Wait returns once all of underway has ended. Errors: that of ctx, when it is
// done before; what is under way goes on then. Nothing may join an empty group
// once Wait was called.
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
	case <-ended: // together with ctx
		return nil
	default:
		return ctx.Err()
	}
}
