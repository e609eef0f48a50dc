package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
)

// growthTurn measures how fast deliveries are accepted with an empty dedup table, and with dedup
// tables of Options.Rows rows. One of these has random ids, and the other has ids that grow with
// time.
func growthTurn(ctx context.Context, b *bench) error {
	server, err := b.ownServer(ctx, schemaHooklatch, cluster.Options{})
	if err != nil {
		return err
	}
	grown := map[load.Order]string{}
	for _, order := range []load.Order{load.Random, load.Timely} {
		b.sayf("create %d dedup rows, ids by %s", b.opts.Rows, order)
		if grown[order], err = b.grow(ctx, server, order); err != nil {
			return fmt.Errorf("make dedup rows: %w", err)
		}
	}
	for range b.rounds {
		for _, beside := range []dedupRows{
			{database{server: server}, load.Random, report.EmptyAtFirst, report.Empty},
			{database{server, grown[load.Random], true}, load.Random, report.GrownRandomAtFirst, report.GrownRandom},
			{database{server, grown[load.Timely], true}, load.Timely, report.GrownTimelyAtFirst, report.GrownTimely},
		} {
			if err := b.acceptBeside(ctx, beside); err != nil {
				return err
			}
		}
	}
	return nil
}

// yearsOfRows is the age of the oldest row that the scenarios growth and years create.
const yearsOfRows = 90 * 24 * time.Hour

// grow creates a database with many dedup rows and returns its name.
func (b *bench) grow(ctx context.Context, server *postgres, order load.Order) (string, error) {
	name, err := server.copy(ctx, original)
	if err != nil {
		return "", err
	}
	event, err := b.liveOn(ctx, living, server, name)
	if err != nil {
		return "", err
	}
	return name, b.fillTables(ctx, server, name, fill{
		event: event, tables: []string{"processed_events"}, order: order,
		first: filledFirst, lives: b.opts.Rows, every: yearsOfRows / time.Duration(b.opts.Rows),
	})
}

// liveOn runs one event's lifecycle in a database, which is kept, and returns the event's id.
func (b *bench) liveOn(ctx context.Context, who subject, server *postgres, name string) (event string, err error) {
	err = b.play(ctx, who, database{server, name, true}, func(s *scene) error {
		if event, err = s.one(ctx, load.Source); err != nil {
			return err
		}
		if err := b.receiver.awaitEvent(ctx, event); err != nil {
			return err
		}
		return s.awaitQuiet(ctx)
	})
	return event, err
}

// dedupRows describes a database with dedup rows, and names its two measurements.
type dedupRows struct {
	database       database
	order          load.Order
	atFirst, later string
}

// acceptBeside measures accepting into a table with dedup rows. It measures a batch of events right
// after a checkpoint, when each random id adds a full-page image to the WAL. After three unmeasured
// batches, it measures a fifth one. In production a checkpoint runs every quarter of an hour.
func (b *bench) acceptBeside(ctx context.Context, rows dedupRows) error {
	return b.play(ctx, accepting, rows.database, func(s *scene) error {
		client, err := s.dialWarm(ctx, load.Options{Order: rows.order}, b.sizes.warm)
		if err != nil {
			return err
		}
		if err := rows.database.server.checkpoint(ctx); err != nil {
			return err
		}
		n := b.sizes.accept
		if err := s.accept(ctx, client, n, report.SectionGrowth, rows.atFirst); err != nil {
			return err
		}
		if _, err := client.Closed(ctx, 3*n); err != nil {
			return err
		}
		return s.accept(ctx, client, n, report.SectionGrowth, rows.later)
	})
}

// accept measures accepting n events.
func (s *scene) accept(ctx context.Context, client *load.Client, n int, section, who string) error {
	before, err := s.account(ctx)
	if err != nil {
		return err
	}
	run, err := client.Closed(ctx, n)
	if err != nil {
		return err
	}
	s.bench.timings(section, who, run)
	return s.costsSince(ctx, section, who, run.Events, before)
}
