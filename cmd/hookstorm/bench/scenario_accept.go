package bench

import (
	"context"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
)

// takeEvents measures how subjects accept events, in turn: as fast as 64 connections deliver
// them, over one connection, and at a constant rate.
func (b *bench) takeEvents(ctx context.Context, subjects []subject) error {
	return b.compete(ctx, subjects, load.Options{}, b.sizes.warm, func(many []*contestant) error {
		if err := b.inTurn(ctx, report.SectionAccept, b.sizes.accept, many); err != nil {
			return err
		}
		var lone []*contestant
		for _, c := range many {
			one, err := c.scene.dial(ctx, load.Options{Connections: 1})
			if err != nil {
				return err
			}
			lone = append(lone, &contestant{name: c.name, scene: c.scene, client: one})
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
	})
}
