package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/meter"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
)

// roomOfLife is the maximum disk space that the rows of a lifecycle take in any version of
// Hooklatch, with their WAL, in bytes.
const roomOfLife = 3300

// yearsTurn measures full lifecycles right after a checkpoint, in tables with the rows of
// Options.Rows earlier lifecycles. Each random key then adds a full-page image to the WAL. If a
// previous commit is given, its program runs first, with its own tables. The two sets of tables are
// never on the disk at the same time.
func yearsTurn(ctx context.Context, b *bench) error {
	subjects := []subject{living.as(report.ThisTree)}
	if b.opts.Previous != "" {
		b.sayf("build %s", b.opts.Previous)
		if err := b.buildPrevious(ctx); err != nil {
			return err
		}
		subjects = []subject{living.as(report.PreviousCommit), living.as(report.ThisTree)}
	}
	for _, who := range subjects {
		if err := b.liveAfterYears(ctx, who); err != nil {
			return fmt.Errorf("%s: %w", who.name, err)
		}
	}
	return nil
}

func (b *bench) liveAfterYears(ctx context.Context, who subject) (err error) {
	server, err := b.startPostgres(ctx, schemaNone, cluster.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop(context.WithoutCancel(ctx))) }()
	if err := server.hasRoom(ctx, int64(b.opts.Rows)*roomOfLife); err != nil {
		return err
	}
	if _, err := b.command(ctx, who, server.cluster.Primary(original), "migrate", "up"); err != nil {
		return err
	}
	event, err := b.liveOn(ctx, who, server, original)
	if err != nil {
		return err
	}
	b.sayf("create %d lifecycles of %s", b.opts.Rows, who.name)
	before, err := server.size(ctx, original)
	if err != nil {
		return err
	}
	if err := b.fillTables(ctx, server, original, fill{
		event: event, tables: keptTables(), first: filledFirst, lives: b.opts.Rows, every: yearsOfRows / time.Duration(b.opts.Rows),
	}); err != nil {
		return err
	}
	after, err := server.size(ctx, original)
	if err != nil {
		return err
	}
	b.report.Add(report.SectionYears, who.name, report.RowsKept, float64(after-before)/float64(b.opts.Rows))
	return b.playLife(ctx, who, database{server, original, true}, func(s *scene, client *load.Client) error {
		for range b.rounds {
			b.receiver.forget()
			if err := server.checkpoint(ctx); err != nil {
				return err
			}
			if err := s.live(ctx, client, b.sizes.years, report.SectionYears, who.name); err != nil {
				return err
			}
		}
		return nil
	})
}

// size returns the size of a database with its indexes, in bytes.
func (p *postgres) size(ctx context.Context, database string) (n int64, err error) {
	if err := p.conn.QueryRow(ctx, "SELECT pg_database_size($1)", database).Scan(&n); err != nil {
		return 0, fmt.Errorf("measure the database: %w", err)
	}
	return n, nil
}

// hasRoom returns an error if the server's disk is known to have fewer than need bytes free,
// because a full disk would also stop other programs.
func (p *postgres) hasRoom(ctx context.Context, need int64) error {
	var dir string
	if err := p.conn.QueryRow(ctx, "SHOW data_directory").Scan(&dir); err != nil {
		return fmt.Errorf("find the directory of the server: %w", err)
	}
	free, known := meter.FreeDisk(dir)
	if known && free < need {
		return fmt.Errorf("the rows need up to %d GB, and %s has %d GB left: make fewer with --rows", need/1e9, dir, free/1e9)
	}
	return nil
}
