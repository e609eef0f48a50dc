package bench

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
)

// lifeTurn offers events as fast as they are accepted, and ends when the last effect
// is done.
func lifeTurn(ctx context.Context, b *bench) (err error) {
	s, client, err := b.enterLife(ctx, living)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.leave(context.WithoutCancel(ctx))) }()
	defer client.Close()
	before, err := s.deliveriesSize(ctx)
	if err != nil {
		return err
	}
	if err := s.live(ctx, client, b.opts.Events, report.SectionLife, report.WholeLife); err != nil {
		return err
	}
	after, err := s.deliveriesSize(ctx)
	if err != nil {
		return err
	}
	b.report.Add(report.SectionLife, report.WholeLife, report.DeliveryKept, float64(after-before)/float64(b.opts.Events))
	return nil
}

//go:embed query/deliveries_size.sql
var deliveriesSizeSQL string

// deliveriesSize is what bodies and headers take with their index, in bytes.
func (s *stage) deliveriesSize(ctx context.Context) (n int64, err error) {
	if err := s.watch.QueryRow(ctx, deliveriesSizeSQL).Scan(&n); err != nil {
		return 0, fmt.Errorf("measure the deliveries: %w", err)
	}
	return n, nil
}

// enterLife starts gateway and worker and lets some events live, so that everything
// is warm.
func (b *bench) enterLife(ctx context.Context, who subject) (*stage, *load.Client, error) {
	s, err := b.enter(ctx, who)
	if err != nil {
		return nil, nil, err
	}
	client, err := s.warmUp(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, s.leave(context.WithoutCancel(ctx)))
	}
	return s, client, nil
}

// warmUp lets some events live.
func (s *stage) warmUp(ctx context.Context) (client *load.Client, err error) {
	client, err = s.dial(ctx, load.Options{})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			client.Close()
			err = fmt.Errorf("warm up: %w", err)
		}
	}()
	return client, s.rehearse(ctx, client, s.bench.sizes.warm)
}

// rehearse lets n events live and measures nothing.
func (s *stage) rehearse(ctx context.Context, client *load.Client, n int) error {
	s.bench.receiver.forget()
	defer s.bench.receiver.forget()
	if _, err := client.Closed(ctx, n); err != nil {
		return err
	}
	if err := s.bench.receiver.await(ctx, n); err != nil {
		return err
	}
	return s.awaitQuiet(ctx)
}

// allDone waits until the receiver has n effects and the stage is quiet, and returns when
// the last of them was done.
func (s *stage) allDone(ctx context.Context, began time.Time, n int) (last time.Time, err error) {
	if err := s.bench.receiver.await(ctx, n); err != nil {
		return last, err
	}
	if err := s.awaitQuiet(ctx); err != nil {
		return last, err
	}
	done, last, err := s.done(ctx, began)
	if err == nil && done != n {
		err = fmt.Errorf("%d of %d effects were done", done, n)
	}
	return last, err
}

// live measures n lives.
func (s *stage) live(ctx context.Context, client *load.Client, n int, section, who string) error {
	b := s.bench
	before, err := s.account(ctx)
	if err != nil {
		return err
	}
	run, err := client.Closed(ctx, n)
	if err != nil {
		return err
	}
	delivered, _ := b.receiver.seen()
	last, err := s.allDone(ctx, run.Began, n)
	if err != nil {
		return err
	}
	b.report.Add(section, who, report.Rate, float64(n)/last.Sub(run.Began).Seconds())
	b.report.Add(section, who, report.Accepted, run.Rate())
	b.report.Add(section, who, report.Delivered, 100*float64(len(delivered))/float64(n))
	b.latencies(section, who, run)
	return s.costsSince(ctx, section, who, n, before)
}
