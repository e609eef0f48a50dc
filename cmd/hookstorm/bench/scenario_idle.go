package bench

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
)

// idleTurn sends single events to a system that has nothing else to do, and then
// none at all.
func idleTurn(ctx context.Context, b *bench) (err error) {
	s, client, err := b.enterLife(ctx, living)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.leave(context.WithoutCancel(ctx))) }()
	defer client.Close()
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
	slices.Sort(took)
	b.report.Add(report.SectionIdle, report.WholeLife, report.P50, milliseconds(took[len(took)/2]))
	b.report.Add(report.SectionIdle, report.WholeLife, report.P99, milliseconds(took[(len(took)-1)*99/100]))
	if err := s.awaitQuiet(ctx); err != nil {
		return err
	}
	return s.rest(ctx)
}

//go:embed query/transactions.sql
var transactionsSQL string

// rest measures what the processes do while nothing comes. What they did right
// before is not told at once, so it begins a moment later.
func (s *stage) rest(ctx context.Context) error {
	if err := sleep(ctx, s.bench.sizes.idleAfter); err != nil {
		return err
	}
	count := func() (n int64, err error) {
		if err := s.server.conn.QueryRow(ctx, transactionsSQL, s.database).Scan(&n); err != nil {
			return 0, fmt.Errorf("count the transactions: %w", err)
		}
		return n, nil
	}
	before, err := count()
	if err != nil {
		return err
	}
	if err := sleep(ctx, s.bench.sizes.idleTime); err != nil {
		return err
	}
	after, err := count()
	if err != nil {
		return err
	}
	s.bench.report.Add(report.SectionIdle, report.WholeLife, report.Transactions, float64(after-before)/s.bench.sizes.idleTime.Seconds())
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
