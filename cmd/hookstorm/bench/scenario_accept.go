package bench

import (
	"context"
	"errors"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
)

// takeEvents measures how subjects take events, in turn: as fast as 64 connections
// bring them, over one connection, and at a constant rate.
func (b *bench) takeEvents(ctx context.Context, subjects []subject) (err error) {
	var many, lone []*contestant
	defer func() {
		for _, c := range lone {
			c.client.Close()
		}
		for _, c := range many {
			err = errors.Join(err, c.leave(ctx))
		}
	}()
	for _, who := range subjects {
		c, err := b.contest(ctx, who, who.name, load.Options{}, b.sizes.warm)
		if err != nil {
			return err
		}
		many = append(many, c)
	}
	if err := b.inTurn(ctx, report.SectionAccept, b.sizes.accept, many); err != nil {
		return err
	}
	for _, c := range many {
		one, err := c.stage.dial(ctx, load.Options{Connections: 1})
		if err != nil {
			return err
		}
		lone = append(lone, &contestant{name: c.name, stage: c.stage, client: one})
	}
	if err := b.inTurn(ctx, report.SectionSingle, b.sizes.single, lone); err != nil {
		return err
	}
	for _, c := range many {
		run, err := c.client.Open(ctx, int(b.opts.Rate*b.sizes.open.Seconds()), b.opts.Rate)
		if err != nil {
			return err
		}
		b.timings(report.SectionConstant, c.name, run)
	}
	return nil
}
