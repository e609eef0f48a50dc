package main

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/cells"
	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// moveSources moves a source between two cells until ctx is done. It ignores errors of the moves,
// because this process expects them. At the end, the sweep checks that no event was lost or
// doubled.
func moveSources(ctx context.Context, pool *pgxpool.Pool) error {
	both, err := cells.New(pool)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		_ = both.Round(ctx, ledger.Operator{Who: who, Via: "sweep"})
		_ = retry.Wait(ctx, pace) // the loop checks ctx
	}
	return both.Stop(context.WithoutCancel(ctx))
}
