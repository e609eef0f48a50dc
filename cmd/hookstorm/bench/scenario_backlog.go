package bench

import (
	"context"
	"errors"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
)

// backlogTurn simulates an outage. It creates events while the receiver is down, and then drains
// them. The receiver restarts once all events are dispatched. By then the breaker is open.
func backlogTurn(ctx context.Context, b *bench) error {
	return b.playLife(ctx, living, database{}, func(s *scene, client *load.Client) error {
		n := b.opts.Backlog
		run, before, back, err := s.sendWhileDown(ctx, client, n)
		if err != nil {
			return err
		}
		if _, err := s.allDone(ctx, run.Began, n); err != nil {
			return err
		}
		came, _ := b.receiver.seen()
		b.report.Add(report.SectionBacklog, report.WholeLife, report.Rate, middle(came))
		b.report.Add(report.SectionBacklog, report.WholeLife, report.FirstDelivery, came[0].Sub(back).Seconds())
		return s.costsSince(ctx, report.SectionBacklog, report.WholeLife, n, before)
	})
}

// sendWhileDown sends n events while the receiver is down, and restarts the receiver. It returns
// the run that sent the events, the account before the restart, and the time of the restart.
func (s *scene) sendWhileDown(ctx context.Context, client *load.Client, n int) (run load.Run, before account, back time.Time, err error) {
	s.bench.receiver.down()
	run, sendErr := client.Closed(ctx, n)
	if sendErr == nil {
		sendErr = s.awaitDispatched(ctx)
	}
	before, accountErr := s.account(ctx)
	back = time.Now()
	return run, before, back, errors.Join(sendErr, accountErr, s.bench.receiver.up(ctx))
}

// middle returns the rate of the middle 80 % of the deliveries, without the probes at the beginning
// and the retries at the end.
func middle(came []time.Time) float64 { return between(came, 0.1, 0.9) }

// between returns the rate of some consecutive deliveries. The parameters begin and end give their
// positions as shares of the number of all deliveries, such as 0.1 and 0.9.
func between(came []time.Time, begin, end float64) float64 {
	from, to := int(begin*float64(len(came))), int(end*float64(len(came)))
	return float64(to-from) / came[to].Sub(came[from]).Seconds()
}
