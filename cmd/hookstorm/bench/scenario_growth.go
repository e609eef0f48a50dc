package bench

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
)

//go:embed query/grow.sql
var growSQL string

//go:embed query/continue_accept_seq.sql
var continueSQL string

// growAtOnce is how many rows one statement makes.
const growAtOnce = 250_000

// growthTurn accepts beside the dedup rows of years, with ids as they come and with
// ids that grow with time, and without any. Each turn begins with a checkpoint, so
// that the WAL has the image of each page that is touched.
func growthTurn(ctx context.Context, b *bench) (err error) {
	server, err := startPostgres(ctx, schemaHooklatch, cluster.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop(context.WithoutCancel(ctx))) }()
	grown := map[load.Order]string{}
	for _, order := range []load.Order{load.Random, load.Timely} {
		b.sayf("make %d dedup rows, ids by %s", b.sizes.grown, order)
		if grown[order], err = b.grow(ctx, server, order); err != nil {
			return fmt.Errorf("make dedup rows: %w", err)
		}
	}
	for range b.opts.Rounds {
		empty, err := server.copy(ctx, original)
		if err != nil {
			return err
		}
		if err := b.acceptBeside(ctx, server, empty, load.Random, report.Empty, false); err != nil {
			return err
		}
		if err := b.acceptBeside(ctx, server, grown[load.Random], load.Random, report.GrownRandom, true); err != nil {
			return err
		}
		if err := b.acceptBeside(ctx, server, grown[load.Timely], load.Timely, report.GrownTimely, true); err != nil {
			return err
		}
	}
	return nil
}

// grow makes a database with many dedup rows, all like one that was accepted, and
// returns its name.
func (b *bench) grow(ctx context.Context, server *postgres, order load.Order) (string, error) {
	name, err := server.copy(ctx, original)
	if err != nil {
		return "", err
	}
	if err := b.acceptOne(ctx, server, name); err != nil {
		return "", err
	}
	conn, err := pgx.Connect(ctx, server.cluster.Primary(name))
	if err != nil {
		return "", fmt.Errorf("connect: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is lost with it
	for from := 1; from <= b.sizes.grown; from += growAtOnce {
		if _, err := conn.Exec(ctx, growSQL, from, min(from+growAtOnce-1, b.sizes.grown), order == load.Random); err != nil {
			return "", fmt.Errorf("insert rows from %d on: %w", from, err)
		}
	}
	for _, statement := range []string{continueSQL, "VACUUM (ANALYZE) hooklatch.processed_events"} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return "", err
		}
	}
	return name, nil
}

// acceptOne has one event accepted.
func (b *bench) acceptOne(ctx context.Context, server *postgres, database string) (err error) {
	s, err := b.enterOn(ctx, accepting, server, database)
	if err != nil {
		return err
	}
	s.keep = true
	defer func() { err = errors.Join(err, s.leave(context.WithoutCancel(ctx))) }()
	client, err := s.dial(ctx, load.Options{Connections: 1})
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = client.Closed(ctx, 1)
	return err
}

// acceptBeside measures how events are accepted in a database, right after a
// checkpoint.
func (b *bench) acceptBeside(ctx context.Context, server *postgres, database string, order load.Order, who string, keep bool) (err error) {
	s, err := b.enterOn(ctx, accepting, server, database)
	if err != nil {
		return err
	}
	s.keep = keep
	defer func() { err = errors.Join(err, s.leave(context.WithoutCancel(ctx))) }()
	client, err := s.dial(ctx, load.Options{Order: order})
	if err != nil {
		return err
	}
	defer client.Close()
	if _, err := client.Closed(ctx, b.sizes.warm); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	if _, err := server.conn.Exec(ctx, "CHECKPOINT"); err != nil {
		return fmt.Errorf("make a checkpoint: %w", err)
	}
	before, err := s.account(ctx)
	if err != nil {
		return err
	}
	run, err := client.Closed(ctx, b.sizes.accept)
	if err != nil {
		return err
	}
	b.timings(report.SectionGrowth, who, run)
	return s.costs(ctx, report.SectionGrowth, who, run.Events, before)
}
