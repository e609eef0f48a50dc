package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
)

// backlogTurn makes events while the receiver is down, as an outage of an hour does,
// and drains them. The receiver is back once all of them are dispatched and the
// breaker is open.
func backlogTurn(ctx context.Context, b *bench) (err error) {
	s, client, err := b.enterLife(ctx, living)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.leave(context.WithoutCancel(ctx))) }()
	defer client.Close()
	b.receiver.down()
	n := b.opts.Backlog
	run, sendErr := client.Closed(ctx, n)
	if sendErr == nil {
		sendErr = s.awaitDispatched(ctx)
	}
	before, accountErr := s.account(ctx)
	back := time.Now()
	if err := errors.Join(sendErr, accountErr, b.receiver.up(ctx)); err != nil {
		return err
	}
	if err := b.receiver.await(ctx, n); err != nil {
		return err
	}
	if err := s.awaitQuiet(ctx); err != nil {
		return err
	}
	done, _, err := s.done(ctx, run.Began)
	if err != nil {
		return err
	}
	if done != n {
		return fmt.Errorf("%d of %d effects were done", done, n)
	}
	came, _ := b.receiver.seen()
	b.report.Add(report.SectionBacklog, report.WholeLife, report.Rate, middle(came))
	b.report.Add(report.SectionBacklog, report.WholeLife, report.FirstDelivery, came[0].Sub(back).Seconds())
	return s.costsSince(ctx, report.SectionBacklog, report.WholeLife, n, before)
}

// middle is the rate over the middle 80 %, without the probes at the beginning and
// those that come again at the end.
func middle(came []time.Time) float64 { return between(came, 0.1, 0.9) }

// between is the rate from one share of all deliveries to another.
func between(came []time.Time, begin, end float64) float64 {
	from, to := int(begin*float64(len(came))), int(end*float64(len(came)))
	return float64(to-from) / came[to].Sub(came[from]).Seconds()
}
