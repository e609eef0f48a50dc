package main

import (
	"context"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/past"
	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// keepHouse creates days that are years old and makes retention delete them until ctx is done. It
// ignores errors, because this process expects them. At the end, the sweep checks that everything
// was deleted.
func keepHouse(ctx context.Context, days *past.Past) error {
	for ctx.Err() == nil {
		_ = days.Round(ctx, ledger.Operator{Who: who, Via: "sweep"})
		_ = retry.Wait(ctx, pace) // the loop checks ctx
	}
	return nil
}
