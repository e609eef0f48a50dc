package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
)

// growthTurn accepts beside the dedup rows of years, with ids as they come and with
// ids that grow with time, and without any.
func growthTurn(ctx context.Context, b *bench) (err error) {
	server, err := b.startPostgres(ctx, schemaHooklatch, cluster.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop(context.WithoutCancel(ctx))) }()
	grown := map[load.Order]string{}
	for _, order := range []load.Order{load.Random, load.Timely} {
		b.sayf("make %d dedup rows, ids by %s", b.opts.Rows, order)
		if grown[order], err = b.grow(ctx, server, order); err != nil {
			return fmt.Errorf("make dedup rows: %w", err)
		}
	}
	for range b.rounds {
		empty, err := server.copy(ctx, original)
		if err != nil {
			return err
		}
		for _, beside := range []dedupRows{
			{empty, load.Random, report.EmptyAtFirst, report.Empty, false},
			{grown[load.Random], load.Random, report.GrownRandomAtFirst, report.GrownRandom, true},
			{grown[load.Timely], load.Timely, report.GrownTimelyAtFirst, report.GrownTimely, true},
		} {
			if err := b.acceptBeside(ctx, server, beside); err != nil {
				return err
			}
		}
	}
	return nil
}

// yearsOfRows is how far back the rows of years begin.
const yearsOfRows = 90 * 24 * time.Hour

// grow makes a database with many dedup rows and returns its name.
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

// liveOn lets one event live in a database.
func (b *bench) liveOn(ctx context.Context, who subject, server *postgres, database string) (event string, err error) {
	s, err := b.enterOn(ctx, who, server, database)
	if err != nil {
		return "", err
	}
	s.keep = true
	defer func() { err = errors.Join(err, s.leave(context.WithoutCancel(ctx))) }()
	if event, err = s.one(ctx, load.Source); err != nil {
		return "", err
	}
	if err := b.receiver.awaitEvent(ctx, event); err != nil {
		return "", err
	}
	return event, s.awaitQuiet(ctx)
}

// dedupRows are those of a database, and as what it is measured how events are accepted
// beside them.
type dedupRows struct {
	database       string
	order          load.Order
	atFirst, later string
	keep           bool
}

// acceptBeside measures how events are accepted beside dedup rows: right after a
// checkpoint, when each random id costs the image of an old page, and again when four
// times as many have come. A checkpoint comes every quarter of an hour.
func (b *bench) acceptBeside(ctx context.Context, server *postgres, rows dedupRows) (err error) {
	s, err := b.enterOn(ctx, accepting, server, rows.database)
	if err != nil {
		return err
	}
	s.keep = rows.keep
	defer func() { err = errors.Join(err, s.leave(context.WithoutCancel(ctx))) }()
	client, err := s.dial(ctx, load.Options{Order: rows.order})
	if err != nil {
		return err
	}
	defer client.Close()
	if _, err := client.Closed(ctx, b.sizes.warm); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	if err := server.checkpoint(ctx); err != nil {
		return err
	}
	n := b.sizes.accept
	measure := func(who string) error {
		before, err := s.account(ctx)
		if err != nil {
			return err
		}
		run, err := client.Closed(ctx, n)
		if err != nil {
			return err
		}
		b.timings(report.SectionGrowth, who, run)
		return s.costsSince(ctx, report.SectionGrowth, who, run.Events, before)
	}
	if err := measure(rows.atFirst); err != nil {
		return err
	}
	if _, err := client.Closed(ctx, 3*n); err != nil {
		return err
	}
	return measure(rows.later)
}
