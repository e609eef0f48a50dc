package bench

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
	"github.com/hooklatch/hooklatch/internal/retry"
)

// diffTurn measures live traffic with and without a comparison of routes over stored events.
func diffTurn(ctx context.Context, b *bench) error {
	server, err := b.ownServer(ctx, schemaHooklatch, cluster.Options{})
	if err != nil {
		return err
	}
	stored, err := server.copy(ctx, original)
	if err != nil {
		return err
	}
	event, err := b.liveOn(ctx, living, server, stored)
	if err != nil {
		return err
	}
	b.sayf("create %d events", b.compared())
	if err := b.fillTables(ctx, server, stored, fill{
		event: event, tables: []string{"processed_events", "deliveries"}, first: filledFirst, lives: b.compared(),
	}); err != nil {
		return fmt.Errorf("fill the tables: %w", err)
	}
	return b.alternately(func(beside bool) error {
		return b.playLife(ctx, living, database{server, stored, true}, func(s *scene, warm *load.Client) error {
			warm.Close()
			client, err := s.dial(ctx, load.Options{Connections: liveConnections})
			if err != nil {
				return err
			}
			if beside {
				return s.steady(ctx, client, report.SectionDiff, report.BesideDiff, 0, s.compareRoutes)
			}
			return s.steady(ctx, client, report.SectionDiff, report.WithoutDiff, 0, func(ctx context.Context, _ string, _ int) error { return retry.Wait(ctx, b.sizes.steady) })
		})
	})
}

// compared returns the number of events that the diff compares.
func (b *bench) compared() int { return b.opts.Rows / 100 }

// compareRoutes runs the command routes diff. Both configurations render the request of each
// event.
func (s *scene) compareRoutes(ctx context.Context, who string, _ int) error {
	place, err := s.bench.place("new")
	if err != nil {
		return err
	}
	changed := s.who
	changed.when = `body.type != ""`
	if err := s.bench.configure(place, changed, s.database.server.cluster.Primary(s.database.name)); err != nil {
		return err
	}
	n := s.bench.compared()
	began := time.Now()
	used, err := s.command(ctx, "routes", "diff", place.Config, "--limit", strconv.Itoa(n))
	if err != nil {
		return err
	}
	s.bench.report.Add(report.SectionDiff, who, report.Compared, float64(n)/time.Since(began).Seconds())
	s.commandCosts(report.SectionDiff, who, n, used)
	return nil
}
