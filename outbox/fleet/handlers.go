package fleet

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// maxTakenBack limits the jobs that one call of TakeBackEvents moves.
const maxTakenBack = 5 * moveLimit

// RedirectEvent moves an undispatched event and its job to another queue. A process that runs the
// job and leaves the event to the readers of that queue calls RedirectEvent, and then snoozes the
// job. RedirectEvent moves nothing and returns false if the event is no longer undispatched. It
// does the same if a process with a newer configuration has the event's source: that process
// decides. The parameter by is the calling process's configuration. Errors: ErrUnavailable.
func (f *Fleet) RedirectEvent(ctx context.Context, event identity.EventRef, jobID int64, queue string, by Configuration) (moved bool, err error) {
	n, err := f.execute(ctx, "redirect_job", f.sql.RedirectEvent.With(redirectEvent{
		Source: event.Source, EventID: event.EventID, Queue: queue, JobID: jobID,
		Configuration: by.Number, SeenSeconds: by.CountsFor().Seconds(), PatienceSeconds: GatewayPatience.Seconds(),
	}))
	if err != nil {
		return false, fmt.Errorf("redirect event: %w", err)
	}
	return n > 0, nil
}

// UnhandledSources returns the given sources for which no running process has handlers. It omits
// the sources of running processes with a newer configuration, which may have other settings. The
// parameter by is the calling process's configuration. Errors: ErrUnavailable.
func (f *Fleet) UnhandledSources(ctx context.Context, sources []string, by Configuration) (unhandled []string, err error) {
	asked := unhandledSources{Sources: append([]string{}, sources...), Configuration: by.Number, SeenSeconds: by.CountsFor().Seconds()}
	err = f.db.Statement("unhandled_sources", func(db pipeline.ByIndex) error {
		rows, err := f.sql.UnhandledSources.With(asked).Query(ctx, db)
		if err == nil {
			unhandled, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find sources without handlers: %w", err)
	}
	return unhandled, nil
}

// TakeBackEvents moves the waiting jobs of the sources' events from the queues of handlers to the
// queue of routes. It returns the number of moved jobs, at most 10,000. The calling process routes
// these sources: its configuration says that they have no handlers. Errors: ErrUnavailable.
func (f *Fleet) TakeBackEvents(ctx context.Context, sources []string) (moved int64, err error) {
	queues := []string{riverjob.QueueHandlers}
	for _, source := range sources {
		queues = append(queues, riverjob.HandlersQueue(identity.Source(source)))
	}
	for more := len(sources) > 0; more && moved < maxTakenBack; {
		n, err := f.execute(ctx, "move_jobs", f.sql.TakeBackEvents.With(takeBackEvents{Sources: sources, Queues: queues, Limit: moveLimit}))
		if err != nil {
			return moved, fmt.Errorf("take events back from handlers: %w", err)
		}
		moved += n
		more = n == moveLimit
	}
	return moved, nil
}
