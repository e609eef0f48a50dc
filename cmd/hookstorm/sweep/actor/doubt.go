package main

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// doubted is the number of effects claimed simultaneously, each for a separate destination.
const doubted = 8

// doubt claims effects of destinations that no worker serves. In its process no COMMIT of a claim
// gets a response. The ledger gives up after ten seconds and withdraws the claims.
func (a *actor) doubt(ctx context.Context) error {
	for ctx.Err() == nil {
		var claims sync.WaitGroup
		for range doubted {
			name := gone + uuid.NewString()[:8]
			if err := a.box.Fleet().RegisterDestinations(ctx, []fleet.Destination{{Name: name, Kind: "http", Queue: "dst_gone"}}); err != nil {
				continue // this process expects errors
			}
			id, err := a.enqueue(ctx, name)
			if err != nil {
				return err
			}
			claims.Go(func() {
				claim := ledger.Claim{ID: id, ClaimID: uuid.New(), Lease: time.Minute}
				_, _ = a.box.Ledger().Claim(ctx, claim) // the claim fails
			})
		}
		if !waited(ctx, &claims) {
			return nil
		}
	}
	return nil
}

// waited waits for the group. It returns false if ctx is done first.
func waited(ctx context.Context, group *sync.WaitGroup) bool {
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}
