package bench

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
	"github.com/hooklatch/hooklatch/internal/retry"
)

// idleTurn measures single events on an otherwise idle system, and then the system without events.
func idleTurn(ctx context.Context, b *bench) error {
	return b.playLife(ctx, living, database{}, func(s *scene, client *load.Client) error {
		if err := s.singly(ctx, client, report.SectionIdle); err != nil {
			return err
		}
		if err := s.awaitQuiet(ctx); err != nil {
			return err
		}
		return s.rest(ctx)
	})
}

// singly measures single events, from POST to the receiver.
func (s *scene) singly(ctx context.Context, client *load.Client, section string) error {
	b := s.bench
	var took []time.Duration
	pace := time.NewTicker(b.sizes.idleEvery)
	defer pace.Stop()
	for range b.sizes.idle {
		select {
		case <-pace.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		id, began, err := client.One(ctx)
		if err != nil {
			return err
		}
		if err := b.receiver.awaitEvent(ctx, id); err != nil {
			return err
		}
		came, _ := b.receiver.of(id)
		took = append(took, came.Sub(began))
	}
	b.spread(section, s.who.name, report.P50, report.P99, took)
	return nil
}

// spread sorts the durations and reports their median and 99th percentile.
func (b *bench) spread(section, who string, median, most report.Quantity, took []time.Duration) {
	slices.Sort(took)
	b.report.Add(section, who, median, milliseconds(took[len(took)/2]))
	b.report.Add(section, who, most, milliseconds(took[(len(took)-1)*99/100]))
}

//go:embed query/transactions.sql
var transactionsSQL string

// rest measures how many transactions the processes run per second while no event arrives. It
// first waits for idleAfter, because Postgres counts recent transactions with a delay.
func (s *scene) rest(ctx context.Context) error {
	var counts [2]int64
	for i, after := range []time.Duration{s.bench.sizes.idleAfter, s.bench.sizes.idleTime} {
		if err := retry.Wait(ctx, after); err != nil {
			return err
		}
		if err := s.database.server.conn.QueryRow(ctx, transactionsSQL, s.database.name).Scan(&counts[i]); err != nil {
			return fmt.Errorf("count the transactions: %w", err)
		}
	}
	s.bench.report.Add(report.SectionIdle, report.WholeLife, report.Transactions, float64(counts[1]-counts[0])/s.bench.sizes.idleTime.Seconds())
	return nil
}
