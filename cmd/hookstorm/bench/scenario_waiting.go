package bench

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
)

//go:embed query/unfinished_of_app.sql
var unfinishedOfAppSQL string

//go:embed query/temporary_files.sql
var temporaryFilesSQL string

// waitingTurn measures lifecycles on empty tables, and on tables in which very many effects wait
// for a paused destination and twice as many are finished. Then it resumes the paused destination.
func waitingTurn(ctx context.Context, b *bench) error {
	server, err := b.ownServer(ctx, schemaHooklatch, cluster.Options{})
	if err != nil {
		return err
	}
	full, err := b.fillWaiting(ctx, server)
	if err != nil {
		return fmt.Errorf("fill the tables: %w", err)
	}
	before, err := server.temporaryFiles(ctx, full)
	if err != nil {
		return err
	}
	if err := b.alternately(func(beside bool) error { return b.liveBesideWaiting(ctx, server, full, beside) }); err != nil {
		return err
	}
	resuming := pausing
	resuming.left = "" // awaitQuiet then also waits for the resumed destination
	if err := b.play(ctx, resuming, database{server, full, true}, func(s *scene) error { return s.resume(ctx) }); err != nil {
		return err
	}
	after, err := server.temporaryFiles(ctx, full) // all sessions have ended, so Postgres has counted their files
	if err != nil {
		return err
	}
	b.report.Add(report.SectionResumed, report.WholeLife, report.TemporaryFiles, float64(after-before))
	return nil
}

// temporaryFiles returns the number of temporary files that statements in a database created.
func (p *postgres) temporaryFiles(ctx context.Context, database string) (n int64, err error) {
	if err := p.conn.QueryRow(ctx, temporaryFilesSQL, database).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the temporary files: %w", err)
	}
	return n, nil
}

// waiting returns the number of effects that wait for the paused destination. Twice as many are
// finished.
func (b *bench) waiting() int { return b.opts.Rows / 10 }

// fillWaiting creates a database with waiting and finished effects, and returns its name.
func (b *bench) fillWaiting(ctx context.Context, server *postgres) (string, error) {
	name, err := server.copy(ctx, original)
	if err != nil {
		return "", err
	}
	pending, done, err := b.liveOnce(ctx, server, name)
	if err != nil {
		return "", err
	}
	n := b.waiting()
	b.sayf("create %d waiting and %d finished effects", n, 2*n)
	return name, b.fillTables(ctx, server, name,
		fill{event: pending, tables: allTables(), first: filledFirst, lives: n},
		fill{event: done, tables: keptTables(), first: filledFirst + n, lives: 2 * n, every: time.Second},
	)
}

// liveOnce makes one effect wait for the paused destination, and finishes another one. It returns
// their events.
func (b *bench) liveOnce(ctx context.Context, server *postgres, name string) (pending, done string, err error) {
	err = b.play(ctx, pausing, database{server, name, true}, func(s *scene) error {
		if _, err := s.command(ctx, "destinations", "pause", pausing.second); err != nil {
			return err
		}
		if pending, err = s.one(ctx, pausing.second); err != nil {
			return err
		}
		if err := s.awaitDispatched(ctx); err != nil {
			return err
		}
		if done, err = s.one(ctx, load.Source); err != nil {
			return err
		}
		if err := b.receiver.awaitEvent(ctx, done); err != nil {
			return err
		}
		return s.awaitQuiet(ctx)
	})
	return pending, done, err
}

// liveBesideWaiting measures lifecycles on tables with waiting effects, or on empty tables. The
// first measurement begins soon after a checkpoint. On tables with waiting effects, nearly every
// new row then adds a full-page image to the WAL. In production a checkpoint runs every quarter of
// an hour. More lifecycles run before the second measurement.
func (b *bench) liveBesideWaiting(ctx context.Context, server *postgres, full string, beside bool) error {
	on, atFirst, later := database{server: server}, report.EmptyAtFirst, report.Empty
	if beside {
		on, atFirst, later = database{server, full, true}, report.BesideWaitingAtFirst, report.BesideWaiting
		if err := server.checkpoint(ctx); err != nil {
			return err
		}
	}
	return b.playLife(ctx, pausing, on, func(s *scene, client *load.Client) error {
		n := b.sizes.data
		if err := s.live(ctx, client, n, report.SectionWaiting, atFirst); err != nil {
			return err
		}
		if err := s.rehearse(ctx, client, 2*n); err != nil {
			return err
		}
		return s.live(ctx, client, n, report.SectionWaiting, later)
	})
}

// resume resumes the destination and drains its effects. Reconcile runs before and during the
// drain.
func (s *scene) resume(ctx context.Context) error {
	b := s.bench
	paused, err := s.reconcile(ctx)
	if err != nil {
		return err
	}
	n := b.waiting() + 1 // including the effect from which the others were copied
	before, err := s.account(ctx)
	if err != nil {
		return err
	}
	resumed := time.Now()
	if _, err := s.command(ctx, "destinations", "resume", pausing.second); err != nil {
		return err
	}
	if err := b.receiver.await(ctx, 1); err != nil {
		return err
	}
	draining, err := s.reconcile(ctx)
	if err != nil {
		return err
	}
	if err := b.receiver.await(ctx, n); err != nil {
		return err
	}
	if err := s.awaitQuiet(ctx); err != nil {
		return err
	}
	came, _ := b.receiver.seen()
	add := func(q report.Quantity, value float64) {
		b.report.Add(report.SectionResumed, report.WholeLife, q, value)
	}
	add(report.FirstDelivery, came[0].Sub(resumed).Seconds())
	// Measure ten slices near each end, each with 2 % of the deliveries, because a vacuum may slow
	// down any slice.
	for i := range 10 {
		from := 0.02 * float64(i)
		add(report.RateBeginning, between(came, 0.02+from, 0.04+from))
		add(report.RateEnd, between(came, 0.78+from, 0.80+from))
	}
	add(report.ReconcileTime, max(paused, draining).Seconds())
	return s.costsSince(ctx, report.SectionResumed, report.WholeLife, n, before)
}
