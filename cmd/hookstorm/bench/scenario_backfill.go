package bench

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/meter"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
	"github.com/hooklatch/hooklatch/internal/retry"
)

const (
	// liveRate is the rate of live events, in events per second: a tenth of the capacity of two
	// cores. liveConnections is the number of connections that send them.
	liveRate        = 100
	liveConnections = 16
)

// backfillTurn measures live traffic with and without a backfill of the same source. Live and
// fetched events go to the same destination.
func backfillTurn(ctx context.Context, b *bench) error {
	return b.alternately(func(beside bool) error { return b.liveBesideBackfill(ctx, beside) })
}

// listed returns the number of events that the backfill fetches.
func (b *bench) listed() int { return b.opts.Rows / 100 }

func (b *bench) liveBesideBackfill(ctx context.Context, beside bool) error {
	now := time.Now().Truncate(time.Second)
	missed := newList(b.listed(), now.Add(-2*time.Hour), now.Add(-5*time.Minute)) // all are older than the lag of a backfill pass
	url, err := b.stage.Serve(ctx, missed)
	if err != nil {
		return err
	}
	who := living
	who.list = url + "/events"
	return b.playLife(ctx, who, database{}, func(s *scene, warm *load.Client) error {
		warm.Close()
		client, err := s.dial(ctx, load.Options{Connections: liveConnections})
		if err != nil {
			return err
		}
		if beside {
			return s.steady(ctx, client, report.SectionBackfill, report.BesideBackfill, missed.n, s.fetch)
		}
		return s.steady(ctx, client, report.SectionBackfill, report.WithoutBackfill, 0, func(ctx context.Context, _ string, _ int) error { return retry.Wait(ctx, b.sizes.steady) })
	})
}

// fetch runs the command that fetches n events, and waits until the receiver has them.
func (s *scene) fetch(ctx context.Context, who string, n int) error {
	began := time.Now()
	used, err := s.command(ctx, "backfill", load.Source, "--since", "3h", "--yes")
	if err != nil {
		return err
	}
	s.bench.report.Add(report.SectionBackfill, who, report.Fetched, float64(n)/time.Since(began).Seconds())
	s.commandCosts(report.SectionBackfill, who, n, used)
	return s.bench.receiver.awaitFetched(ctx, n)
}

// commandCosts reports the CPU time that a command used for n events.
func (s *scene) commandCosts(section, who string, n int, used time.Duration) {
	if meter.Known() {
		s.bench.report.Add(section, who, report.CPUPass, float64(used.Microseconds())/float64(n))
	}
}

// steady measures single lifecycles at a steady rate until the function meanwhile returns. That
// function makes n more events reach the receiver.
func (s *scene) steady(ctx context.Context, client *load.Client, section, who string, n int, meanwhile func(ctx context.Context, who string, n int) error) error {
	b := s.bench
	before, err := s.account(ctx)
	if err != nil {
		return err
	}
	end := make(chan struct{})
	var run load.Run
	both, meanwhileCtx := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		run, err = client.Steady(meanwhileCtx, liveRate, end)
		return err
	})
	both.Go(func() error {
		defer close(end)
		return meanwhile(meanwhileCtx, who, n)
	})
	if err := both.Wait(); err != nil {
		return err
	}
	all := n + run.Events
	last, err := s.allDone(ctx, run.Began, all)
	if err != nil {
		return err
	}
	var took []time.Duration
	for _, sent := range run.Sent {
		came, _ := b.receiver.of(sent.ID)
		took = append(took, came.Sub(sent.Began))
	}
	b.report.Add(section, who, report.Rate, float64(all)/last.Sub(run.Began).Seconds())
	b.latencies(section, who, run)
	b.spread(section, who, report.ReceiverP50, report.ReceiverP99, took)
	return s.costsSince(ctx, section, who, all, before)
}
