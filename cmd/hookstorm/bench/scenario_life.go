package bench

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
)

// lifeTurn offers events as fast as they are accepted, and ends when the last effect is done. With
// --previous, the program of the previous commit is measured first.
func lifeTurn(ctx context.Context, b *bench) error {
	if b.opts.Previous != "" {
		if err := b.buildPrevious(ctx); err != nil {
			return err
		}
		if err := b.life(ctx, living.as(report.PreviousCommit), report.PreviousCommit); err != nil {
			return err
		}
	}
	return b.life(ctx, living, report.WholeLife)
}

// life measures full lifecycles of a subject.
func (b *bench) life(ctx context.Context, who subject, name string) error {
	return b.playLife(ctx, who, database{}, func(s *scene, client *load.Client) error {
		before, err := s.deliveriesSize(ctx)
		if err != nil {
			return err
		}
		if err := s.live(ctx, client, b.opts.Events, report.SectionLife, name); err != nil {
			return err
		}
		after, err := s.deliveriesSize(ctx)
		if err != nil {
			return err
		}
		b.report.Add(report.SectionLife, name, report.DeliveryKept, float64(after-before)/float64(b.opts.Events))
		return nil
	})
}

//go:embed query/deliveries_size.sql
var deliveriesSizeSQL string

// deliveriesSize returns the size of bodies and headers with their index, in bytes.
func (s *scene) deliveriesSize(ctx context.Context) (n int64, err error) {
	if err := s.watch.QueryRow(ctx, deliveriesSizeSQL).Scan(&n); err != nil {
		return 0, fmt.Errorf("measure the deliveries: %w", err)
	}
	return n, nil
}

// warmUp processes some events before anything is measured. It returns the client that sent them.
func (s *scene) warmUp(ctx context.Context) (*load.Client, error) {
	client, err := s.dial(ctx, load.Options{})
	if err != nil {
		return nil, err
	}
	if err := s.rehearse(ctx, client, s.bench.sizes.warm); err != nil {
		return nil, fmt.Errorf("warm up: %w", err)
	}
	return client, nil
}

// rehearse runs n lifecycles without measuring.
func (s *scene) rehearse(ctx context.Context, client *load.Client, n int) error {
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

// allDone waits until the receiver has n effects and the scene is quiet. It returns the time at
// which the last effect was done, and an error unless exactly n effects were done since began.
func (s *scene) allDone(ctx context.Context, began time.Time, n int) (last time.Time, err error) {
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

// live measures n lifecycles.
func (s *scene) live(ctx context.Context, client *load.Client, n int, section, who string) error {
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
