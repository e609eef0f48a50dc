package bench

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
)

const (
	// standbyRoundTrip is the round-trip time to the standby, as if it were in another zone.
	standbyRoundTrip = 5 * time.Millisecond
	// standbyGateways is the number of accepting gateways.
	standbyGateways = 4
	// notifications is the number of commits that are timed one after another.
	notifications = 40
)

// standbyTurn measures how four gateways accept events while every commit waits for a standby that
// is 5 ms away.
func standbyTurn(ctx context.Context, b *bench) error {
	far, err := cluster.NewDistance(standbyRoundTrip / 2)
	if err != nil {
		return err
	}
	b.ends = append(b.ends, func(context.Context) error { far.Close(); return nil }) // runs after the server has stopped
	server, err := b.ownServer(ctx, schemaHooklatch, cluster.Options{
		// The server must still have the WAL when the standby is far behind.
		Standby: true, Synchronous: true, Upstream: far.Upstream, Settings: map[string]string{"wal_keep_size": "1GB"},
	})
	if err != nil {
		return err
	}
	four := accepting
	four.roles = slices.Repeat([]string{roleGateway}, standbyGateways)
	for range b.rounds {
		if err := b.play(ctx, four, database{server: server}, func(s *scene) error { return s.acceptFar(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

//go:embed query/last_accepted.sql
var lastAcceptedSQL string

//go:embed query/commits.sql
var commitsSQL string

// acceptFar measures how four gateways accept events, and how many of their commits overlap.
// Postgres runs commits with a notification one after another, so such commits cannot overlap.
func (s *scene) acceptFar(ctx context.Context) error {
	alone, err := notifyingCommit(ctx, s.watch)
	if err != nil {
		return err
	}
	client, err := s.dialWarm(ctx, load.Options{}, s.bench.sizes.warm)
	if err != nil {
		return err
	}
	var last int64
	if err := s.watch.QueryRow(ctx, lastAcceptedSQL).Scan(&last); err != nil {
		return fmt.Errorf("find the last event: %w", err)
	}
	before, err := s.account(ctx)
	if err != nil {
		return err
	}
	run, err := client.Closed(ctx, s.bench.sizes.accept)
	if err != nil {
		return err
	}
	s.bench.timings(report.SectionStandby, report.FourGateways, run)
	if err := s.costsSince(ctx, report.SectionStandby, report.FourGateways, run.Events, before); err != nil {
		return err
	}
	var commits int
	if err := s.watch.QueryRow(ctx, commitsSQL, last).Scan(&commits); err != nil {
		return fmt.Errorf("count the commits: %w", err)
	}
	add := func(q report.Quantity, value float64) {
		s.bench.report.Add(report.SectionStandby, report.FourGateways, q, value)
	}
	add(report.CommitTime, milliseconds(alone))
	add(report.EventsOfCommit, float64(run.Events)/float64(commits))
	add(report.CommitsAtOnce, float64(commits)*alone.Seconds()/run.Ended.Sub(run.Began).Seconds())
	return nil
}

// notifyingCommit returns the median duration of an undisturbed commit with a notification.
func notifyingCommit(ctx context.Context, conn *pgx.Conn) (time.Duration, error) {
	var took []time.Duration
	for range notifications {
		began := time.Now()
		// Without its own WAL record, the commit would have nothing to wait for.
		if _, err := conn.Exec(ctx, "SELECT pg_notify('hookstorm', ''), pg_logical_emit_message(true, 'hookstorm', '')"); err != nil {
			return 0, fmt.Errorf("time a commit: %w", err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}
