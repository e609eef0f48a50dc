package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/listed"
	"github.com/hooklatch/hooklatch/gateway/backfill"
	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// passEvery is the pause between passes. A worker would read the lists too rarely.
const passEvery = 100 * time.Millisecond

const (
	// eager is the number of initial rounds in which a reader always starts an operator's pass,
	// which overtakes the current pass. If two readers did that in every round, no long pass would
	// ever end.
	eager = 10
	// rests is the minimum time between two passes for an operator in later rounds, so that other
	// passes finish.
	rests = 30 * time.Second
)

// readLists makes passes over the lists of all sources until ctx is done. It makes the due passes,
// and an operator's passes, which overtake the current pass. It ignores errors of the passes,
// because this process expects them.
func readLists(ctx context.Context, box *outbox.Outbox, logger *slog.Logger) error {
	cfg, err := config.Load(os.Getenv(configVariable), os.LookupEnv)
	if err != nil {
		return err
	}
	lists, err := app.MakeBackfill(backfill.Options{Logger: logger}, box, func() *config.Config { return cfg })
	if err != nil {
		return err
	}
	var overtook time.Time
	for round := 0; ctx.Err() == nil; round++ {
		_ = box.Coverage().Hurry(ctx, []identity.Source{listed.Source})
		_ = box.Coverage().RunNow(ctx, listed.Source, ledger.Operator{Who: "sweep", Via: "sweep"})
		_ = lists.Turn(ctx)
		if round < eager || time.Since(overtook) > rests {
			overtook = time.Now()
			_, _ = lists.Run(ctx, listed.Source, backfill.Order{By: "sweep"})
		}
		_ = retry.Wait(ctx, passEvery) // the loop checks ctx
	}
	return nil
}
