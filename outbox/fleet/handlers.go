package fleet

import (
	"context"
	"fmt"

	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// RedirectEvent moves an event's job to another queue. A process that runs the job and leaves the
// event to the readers of that queue calls RedirectEvent, and then snoozes the job. Errors:
// ErrUnavailable.
func (f *Fleet) RedirectEvent(ctx context.Context, jobID int64, queue string) error {
	if _, err := f.execute(ctx, "redirect_job", f.sql.RedirectEvent.With(redirectEvent{Queue: queue, JobID: jobID})); err != nil {
		return fmt.Errorf("redirect event: %w", err)
	}
	return nil
}

// TakeBackEvents moves the waiting jobs of the sources' events from the queues of handlers to the
// queue of routes, and returns the number of moved jobs. The calling process routes these sources:
// its configuration says that they have no handlers. While a running process has handlers for a
// source, the source's events stay. Call TakeBackEvents every 10 seconds. Errors: ErrUnavailable.
func (f *Fleet) TakeBackEvents(ctx context.Context, sources []string) (moved int64, err error) {
	if len(sources) == 0 {
		return 0, nil
	}
	queues := []string{riverjob.QueueHandlers}
	for _, source := range sources {
		queues = append(queues, riverjob.HandlersQueue(identity.Source(source)))
	}
	for more := true; more && ctx.Err() == nil; {
		n, err := f.execute(ctx, "move_jobs", f.sql.TakeBackEvents.With(takeBackEvents{
			Sources: sources, Queues: queues, SeenSeconds: PresumedGone.Seconds(), Limit: moveLimit,
		}))
		if err != nil {
			return moved, fmt.Errorf("take events back from handlers: %w", err)
		}
		moved += n
		more = n == moveLimit
	}
	return moved, nil
}
