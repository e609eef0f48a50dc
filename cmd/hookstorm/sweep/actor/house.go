package main

import (
	"context"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/past"
	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// keepHouse makes days of years ago and has retention delete them, until ctx is done.
// Errors are what this process is made for, and the sweep looks in the end whether all
// of it is gone.
func keepHouse(ctx context.Context, days *past.Past) error {
	for ctx.Err() == nil {
		_ = days.Round(ctx, ledger.Operator{Who: who, Via: "sweep"})
		_ = retry.Wait(ctx, pace) // the loop looks at ctx
	}
	return nil
}
