package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/commit"
)

const (
	// AnnounceEvery is how often a process that performs effects says that it is
	// there.
	AnnounceEvery = 10 * time.Second
	// PresumedGone is when one that has not said so no longer counts. Too soon
	// is harmless for effects, which wait where another takes them. Events are decided by
	// an older configuration from then on.
	PresumedGone = 3 * AnnounceEvery
	// GatewayPatience is how long workers leave the events of a source to a newer
	// configuration that only a gateway runs: workers with it should start by then.
	GatewayPatience = 5 * time.Minute
	// unusedAfter is when a configuration that no process has run begins anew: it is
	// rolled back to. Before, a process that runs it again is taken for one that
	// restarted.
	unusedAfter = 2 * time.Minute
	// moveLimit bounds how many jobs one statement moves.
	moveLimit = 2_000
)

// Presence is a process that performs effects, or a gateway that accepts events for
// others to dispatch.
type Presence struct {
	ID           string        // unique among running processes
	Running      time.Duration // since its start
	ConfigHash   string
	Destinations []Destination // Name and Queue are used

	// Hash is the digest of what decides which effects an event has, and Routes that of
	// the routes alone.
	Hash, Routes string
	// Sources are those whose events the process dispatches, or accepts, and
	// HandlerSources those it has handlers for; "*" is every source.
	Sources, HandlerSources []string
	// GatewayOnly is set for a process that dispatches nothing.
	GatewayOnly bool
	// Accepts is set for a process in which a gateway runs.
	Accepts bool
}

// Configuration is what a process has announced to decide by.
type Configuration struct {
	// Number is larger the later the configuration began. 0: none was announced.
	Number int64
	Routes string // as in Presence
	// ForHandlers is set where an event waits for handlers of its source: only processes
	// that have some can take it.
	ForHandlers bool
}

// Announce says that a process is there and what it works. Call it before the process
// accepts or dispatches anything, when its configuration changes, and every AnnounceEvery.
// It tries once and ends with ctx. Errors: ErrUnavailable.
func (f *Fleet) Announce(ctx context.Context, p Presence) (Configuration, error) {
	names, queues := make([]string, len(p.Destinations)), make([]string, len(p.Destinations))
	for i, d := range p.Destinations {
		names[i], queues[i] = d.Name, d.Queue
	}
	announced := Configuration{Routes: p.Routes}
	err := f.db.Statement("announce_worker", func(db pipeline.ByIndex) error {
		return f.sql.AnnounceWorker.With(announceWorker{
			ID: p.ID, RunningSeconds: p.Running.Seconds(), ConfigHash: p.ConfigHash, Destinations: names, Queues: queues,
			Configuration: p.Hash, Routes: p.Routes, Sources: append([]string{}, p.Sources...), HandlerSources: append([]string{}, p.HandlerSources...),
			Dispatches:    !p.GatewayOnly,
			Accepts:       p.Accepts || p.GatewayOnly,
			UnusedSeconds: unusedAfter.Seconds(),
		}).QueryRow(ctx, db).Scan(&announced.Number)
	})
	if err != nil {
		return Configuration{}, fmt.Errorf("announce worker: %w", err)
	}
	return announced, nil
}

// Withdraw says that a process is gone, and ends with ctx.
func (f *Fleet) Withdraw(ctx context.Context, id string) error {
	err := f.db.Statement("withdraw_worker", func(db pipeline.ByIndex) error {
		_, err := f.sql.WithdrawWorker.With(withdrawWorker{ID: id}).Exec(ctx, db)
		return err
	})
	if err != nil {
		return fmt.Errorf("withdraw worker: %w", err)
	}
	return nil
}

// TakeOver is what a process does when it starts: it announces itself, and what
// waits for its destinations in other queues moves to its own, also from the
// queues of a process that is presumed gone only in a while. It returns how many
// jobs moved. Errors: ErrUnavailable.
func (f *Fleet) TakeOver(ctx context.Context, p Presence) (moved int64, err error) {
	if _, err := f.Announce(ctx, p); err != nil {
		return 0, err
	}
	own := func(queue string) bool {
		return slices.ContainsFunc(p.Destinations, func(d Destination) bool { return d.Queue == queue })
	}
	return f.syncQueues(ctx, 0, own)
}

// SyncQueues makes every effect wait where a running process takes it, and
// returns how many jobs it moved. While processes with different configurations
// run together, and after the last of the old has stopped, jobs may wait in a
// queue nobody works any more. Call it every 10 seconds. Errors: ErrUnavailable.
func (f *Fleet) SyncQueues(ctx context.Context) (moved int64, err error) {
	return f.syncQueues(ctx, PresumedGone, func(string) bool { return false })
}

// syncQueues moves jobs out of queues that no process worked for so long, except
// of those to be left alone.
func (f *Fleet) syncQueues(ctx context.Context, unserved time.Duration, leave func(queue string) bool) (moved int64, err error) {
	if _, err := f.execute(ctx, "place_destinations", f.sql.PlaceDestinations.With(seenWithin{SeenSeconds: PresumedGone.Seconds()})); err != nil {
		return 0, fmt.Errorf("sync queues: place destinations: %w", err)
	}
	var queues []string
	err = f.db.Statement("unserved_queues", func(db pipeline.ByIndex) error {
		rows, err := f.sql.UnservedQueues.With(seenWithin{SeenSeconds: unserved.Seconds()}).Query(ctx, db)
		if err == nil {
			queues, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("sync queues: find unserved: %w", err)
	}
	queues = slices.DeleteFunc(queues, func(queue string) bool { return riverjob.IsReservedQueue(queue) || leave(queue) })
	for more := len(queues) > 0; more && ctx.Err() == nil; {
		n, err := f.execute(ctx, "move_jobs", f.sql.MoveJobs.With(moveJobs{Queues: queues, Limit: moveLimit}))
		if err != nil {
			return moved, fmt.Errorf("sync queues: move jobs: %w", err)
		}
		moved += n
		more = n == moveLimit
	}
	if len(queues) == 0 {
		return moved, nil
	}
	for more := true; more && ctx.Err() == nil; {
		n, err := f.execute(ctx, "end_jobs", f.sql.EndJobs.With(endJobs{Queues: queues, Limit: moveLimit}))
		if err != nil {
			return moved, fmt.Errorf("sync queues: end jobs of retired destinations: %w", err)
		}
		more = n == moveLimit
	}
	return moved, nil
}

// Redirect sends a job to the queue of its destination. The process that runs
// it, which cannot work it, then snoozes it. Errors: ErrUnavailable.
func (f *Fleet) Redirect(ctx context.Context, jobID int64) error {
	if _, err := f.execute(ctx, "redirect_job", f.sql.RedirectJob.With(redirectJob{JobID: jobID})); err != nil {
		return fmt.Errorf("redirect job: %w", err)
	}
	return nil
}

// Wake tells every process of a queue in which a job is due.
func (f *Fleet) Wake(queue string) { f.jobs.Wake(queue) }

// execute runs a statement that may be repeated in a transaction of its own.
func (f *Fleet) execute(ctx context.Context, name commit.Name, change statement.Bound) (affected int64, err error) {
	err = f.db.Do(ctx, name, commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		tag, err := change.Exec(ctx, tx)
		affected = tag.RowsAffected()
		return err
	})
	return affected, err
}
