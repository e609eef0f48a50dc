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

// passEvery is how long a reader of lists rests: a worker reads them seldom.
const passEvery = 100 * time.Millisecond

const (
	// eager are the rounds in which the operator of a reader overtakes each time. Two that
	// always do let no pass end where a pass takes long.
	eager = 10
	// rests is how long the operator lets passes come to their end later.
	rests = 30 * time.Second
)

// readLists makes passes over the lists of all sources until ctx is done: those that are
// due, and those of an operator, who overtakes the pass at work. Errors are what this
// process is made for.
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
		_ = retry.Wait(ctx, passEvery) // the loop looks at ctx
	}
	return nil
}
