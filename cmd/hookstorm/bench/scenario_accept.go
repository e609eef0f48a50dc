package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
)

func limitTurn(ctx context.Context, b *bench) error {
	return b.takeEvents(ctx, limit)
}

func naiveTurn(ctx context.Context, b *bench) error {
	// Each of the two goes first every other time.
	first, second := naive, naiveWithoutGIN
	if b.round%2 == 1 {
		first, second = second, first
	}
	if err := b.takeEvents(ctx, first); err != nil {
		return err
	}
	return b.takeEvents(ctx, second)
}

func acceptTurn(ctx context.Context, b *bench) error {
	return b.takeEvents(ctx, accepting)
}

// takeEvents measures how a subject takes events: as fast as 64 connections bring
// them, over one connection, and at a constant rate.
func (b *bench) takeEvents(ctx context.Context, who subject) (err error) {
	s, err := b.enter(ctx, who)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.leave(context.WithoutCancel(ctx))) }()
	client, err := s.dial(ctx, load.Options{})
	if err != nil {
		return err
	}
	defer client.Close()
	if _, err := client.Closed(ctx, b.sizes.warm); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}

	before, err := s.account(ctx)
	if err != nil {
		return err
	}
	run, err := client.Closed(ctx, b.sizes.accept)
	if err != nil {
		return err
	}
	b.timings(report.SectionAccept, who.name, run)
	if err := s.costs(ctx, report.SectionAccept, who.name, run.Events, before); err != nil {
		return err
	}

	one, err := s.dial(ctx, load.Options{Connections: 1})
	if err != nil {
		return err
	}
	defer one.Close()
	if run, err = one.Closed(ctx, b.sizes.single); err != nil {
		return err
	}
	b.timings(report.SectionSingle, who.name, run)

	if run, err = client.Open(ctx, int(b.opts.Rate*b.sizes.open.Seconds()), b.opts.Rate); err != nil {
		return err
	}
	b.timings(report.SectionConstant, who.name, run)
	return nil
}
