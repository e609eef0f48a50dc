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
	"github.com/hooklatch/hooklatch/outbox/identity"
)

const (
	// AnnounceEvery is the interval at which a worker or a gateway announces itself.
	AnnounceEvery = 5 * time.Second
	// silent is the time without an announcement after which a process's jobs are given to other
	// processes.
	silent = 4 * AnnounceEvery
	// PresumedGone is the time without an announcement after which a process no longer counts as
	// running. If the time is too short, effects merely move to a queue that another process reads.
	// Events, however, may then be dispatched by an older configuration.
	PresumedGone = 6 * AnnounceEvery
	// GatewayPatience is the time for which workers leave a source's events to a newer
	// configuration that only a gateway runs. It begins when the configuration begins, or when the
	// last worker with that configuration was seen. Workers with that configuration should start
	// within this time.
	GatewayPatience = 5 * time.Minute
	// unusedAfter is the time after which a configuration that no process runs gets a new number,
	// because starting a process with it later is a rollback. Within that time, such a start counts
	// as a restart.
	unusedAfter = 2 * time.Minute
	// moveLimit limits the jobs that one statement moves or cancels.
	moveLimit = 2_000
)

// Presence describes a process that performs effects, or a gateway that accepts events for
// others to dispatch.
type Presence struct {
	ID           string        // unique among running processes
	Running      time.Duration // time since its start
	ConfigHash   string
	Destinations []Destination // only Name and Queue are read

	// Hash is the digest of everything that decides which effects an event has. Routes is the
	// digest of the routes alone.
	Hash, Routes string
	// Sources are the sources whose events the process dispatches or accepts. HandlerSources are
	// the sources for which it has handlers. "*" is every source.
	Sources, HandlerSources []string
	// GatewayOnly is true for a process that dispatches nothing.
	GatewayOnly bool
	// Accepts is true for a process that runs a gateway.
	Accepts bool
	// Last is the result of this process's previous Announce, or zero for the first call.
	Last Configuration
}

// Configuration is a process's announced configuration.
type Configuration struct {
	// Number is larger for a newer configuration: one that was first announced later, or announced
	// again after no process had run it for a while. 0: no configuration was announced.
	Number int64
	Routes string // as in Presence
	// ForHandlers is not announced: a worker sets it in the configuration of a plan. It is true if
	// the planned event waits for handlers of its source. Only processes with such handlers can
	// take the event.
	ForHandlers bool

	// AnnouncedAt is the time of the latest announcement, by this process's clock.
	AnnouncedAt time.Time

	hash string // Presence.Hash
	// silentFrom and silentTo are the times of the last two successive announcements of this
	// process that were more than PresumedGone apart. Zero: there were none.
	silentFrom, silentTo time.Time
}

// CountsFor returns the age up to which the announcements of other processes count. The age is
// PresumedGone. It is higher while this process cannot announce itself, and for a time of
// PresumedGone after that, because an outage of the database makes all announcements old. The
// announcements that counted before the outage still count until all processes have had the time
// to announce themselves again.
func (c Configuration) CountsFor() time.Duration {
	switch {
	case c.AnnouncedAt.IsZero():
	case time.Since(c.AnnouncedAt) > PresumedGone:
		return time.Since(c.AnnouncedAt) + PresumedGone
	case time.Since(c.silentTo) < PresumedGone:
		return time.Since(c.silentFrom) + PresumedGone
	}
	return PresumedGone
}

// Announce registers a running process, its destinations and its sources, and returns its
// configuration with the number. Call Announce before the process accepts or dispatches anything,
// when its configuration changes, and every AnnounceEvery. Announce tries once. Errors:
// ErrUnavailable.
func (f *Fleet) Announce(ctx context.Context, p Presence) (Configuration, error) {
	names, queues := make([]string, len(p.Destinations)), make([]string, len(p.Destinations))
	for i, d := range p.Destinations {
		names[i], queues[i] = d.Name, d.Queue
	}
	var number int64
	err := f.db.Statement("announce_worker", func(db pipeline.ByIndex) error {
		return f.sql.AnnounceWorker.With(announceWorker{
			ID: p.ID, RunningSeconds: p.Running.Seconds(), ConfigHash: p.ConfigHash, Destinations: names, Queues: queues,
			Configuration: p.Hash, Routes: p.Routes, Sources: append([]string{}, p.Sources...), HandlerSources: append([]string{}, p.HandlerSources...),
			Dispatches:    !p.GatewayOnly,
			Accepts:       p.Accepts || p.GatewayOnly,
			UnusedSeconds: unusedAfter.Seconds(),
			Renewed:       p.Last.hash == p.Hash && p.Last.Number > 0,
		}).QueryRow(ctx, db).Scan(&number)
	})
	if err != nil {
		return Configuration{}, fmt.Errorf("announce worker: %w", err)
	}
	next := p.Last
	next.Number, next.Routes, next.hash, next.AnnouncedAt = number, p.Routes, p.Hash, time.Now()
	if last := p.Last.AnnouncedAt; !last.IsZero() && next.AnnouncedAt.Sub(last) > PresumedGone {
		next.silentFrom, next.silentTo = last, next.AnnouncedAt
	}
	return next, nil
}

// Withdraw removes a stopping process from the running processes. It tries once.
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

// FreeJobs gives the unfinished effects and events of lost processes to other processes, and
// records the given reason as the error of the interrupted job runs. It returns the number of freed
// jobs. Call it every AnnounceEvery. Errors: ErrUnavailable.
func (f *Fleet) FreeJobs(ctx context.Context, reason string) (freed int64, err error) {
	err = f.db.Statement("free_jobs", func(db pipeline.ByIndex) error {
		freed = 0
		rows, err := f.sql.FreeJobs.With(freeJobs{SilentSeconds: silent.Seconds(), Error: reason}).Query(ctx, db)
		if err != nil {
			return err
		}
		var jobs int64
		var notified bool
		_, err = pgx.ForEachRow(rows, []any{&jobs, &notified}, func() error {
			freed += jobs
			return nil
		})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("free the jobs of lost processes: %w", err)
	}
	return freed, nil
}

// TakeOver announces a starting process, and moves the jobs of its destinations from other queues
// to its own queues. The other queues include the queues of a process that is not presumed gone
// yet. TakeOver returns the number of moved jobs. Errors: ErrUnavailable.
func (f *Fleet) TakeOver(ctx context.Context, p Presence) (moved int64, err error) {
	if _, err := f.Announce(ctx, p); err != nil {
		return 0, err
	}
	own := func(queue string) bool {
		return slices.ContainsFunc(p.Destinations, func(d Destination) bool { return d.Queue == queue })
	}
	return f.syncQueues(ctx, 0, own)
}

// SyncQueues moves the waiting jobs of effects out of queues that no running process reads, and
// returns the number of moved jobs. Jobs may wait in such a queue while processes with different
// configurations run together, and after the last old process has stopped. Call SyncQueues every
// 10 seconds. Errors: ErrUnavailable.
func (f *Fleet) SyncQueues(ctx context.Context) (moved int64, err error) {
	return f.syncQueues(ctx, PresumedGone, func(string) bool { return false })
}

// syncQueues moves jobs out of queues that no process has read for the duration unserved, except
// queues for which the function leave returns true. It also cancels the jobs of retired
// destinations in these queues, and the jobs that were set aside for retired destinations.
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
	aside, err := f.asideOfRetired(ctx, queues)
	if err != nil {
		return 0, fmt.Errorf("sync queues: %w", err)
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
	queues = append(queues, aside...)
	for more := len(queues) > 0; more && ctx.Err() == nil; {
		n, err := f.execute(ctx, "end_jobs", f.sql.EndJobs.With(endJobs{Queues: queues, Limit: moveLimit}))
		if err != nil {
			return moved, fmt.Errorf("sync queues: end jobs of retired destinations: %w", err)
		}
		more = n == moveLimit
	}
	return moved, nil
}

// asideOfRetired returns the queues among the given ones whose jobs were set aside for a destination
// that no longer exists. Only Recall takes jobs from such a queue, and only for destinations that
// exist.
func (f *Fleet) asideOfRetired(ctx context.Context, queues []string) ([]string, error) {
	queues = slices.DeleteFunc(slices.Clone(queues), func(queue string) bool { return !riverjob.IsAsideQueue(queue) })
	if len(queues) == 0 {
		return nil, nil
	}
	destinations, err := f.DestinationsForWorkers(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range destinations {
		aside := riverjob.AsideQueue(d.Name)
		queues = slices.DeleteFunc(queues, func(queue string) bool { return queue == aside })
	}
	return queues, nil
}

// RendersElsewhere reports whether another process should render the requests of the source's
// events to a destination. That process has the source, serves the destination, and has a newer
// configuration with other routes. If the calling process does not have the source, any
// configuration counts. The parameter by is the calling process's configuration. A process that did
// not announce a configuration decides everything itself. Errors: ErrUnavailable.
func (f *Fleet) RendersElsewhere(ctx context.Context, source identity.Source, destination string, by Configuration, hasSource bool) (elsewhere bool, err error) {
	if by.Number == 0 {
		return false, nil
	}
	asked := rendersElsewhere{
		Source: source, HasSource: hasSource, Destination: destination, Configuration: by.Number, Routes: by.Routes, SeenSeconds: by.CountsFor().Seconds(),
	}
	err = f.db.Statement("renders_elsewhere", func(db pipeline.ByIndex) error {
		return f.sql.RendersElsewhere.With(asked).QueryRow(ctx, db).Scan(&elsewhere)
	})
	if err != nil {
		return false, fmt.Errorf("compare configurations: %w", err)
	}
	return elsewhere, nil
}

// Redirect moves a job to its destination's queue. A process that runs the job and does not have
// the destination calls Redirect and then snoozes the job. Errors: ErrUnavailable.
func (f *Fleet) Redirect(ctx context.Context, jobID int64) error {
	if _, err := f.execute(ctx, "redirect_job", f.sql.RedirectJob.With(redirectJob{JobID: jobID})); err != nil {
		return fmt.Errorf("redirect job: %w", err)
	}
	return nil
}

// Wake notifies every process that the queue contains a due job.
func (f *Fleet) Wake(queue string) { f.jobs.Wake(queue) }

// execute runs a repeatable statement in its own transaction, which is given up if ctx is
// cancelled.
func (f *Fleet) execute(ctx context.Context, name commit.Name, change statement.Bound) (affected int64, err error) {
	err = f.db.Do(ctx, name, commit.Limits{Recurring: true}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		tag, err := change.Exec(ctx, tx)
		affected = tag.RowsAffected()
		return err
	})
	return affected, err
}
