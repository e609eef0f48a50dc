package riverjob

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/internal/drain"
	"github.com/hooklatch/hooklatch/internal/logkey"
)

const (
	// wakePause is the pause between two notifications: jobs inserted meanwhile share the next
	// notification.
	wakePause = 10 * time.Millisecond
	// wakeTimeout limits one notification.
	wakeTimeout = 5 * time.Second
)

// queueNames are the arguments of a notification.
type queueNames struct {
	Topic  string
	Queues []string
}

// waker notifies River's clients of new jobs in a transaction of its own, after the jobs are
// committed. Commits that notify wait for each other: Postgres holds one lock until each commit is
// on disk and on the standby. A separate notification covers many commits, and its own commit waits
// neither for the disk nor for the standby. If a notification is lost when the process ends, its
// jobs wait for River's next poll.
type waker struct {
	send   func(ctx context.Context, queues []string) error
	logger *slog.Logger

	underway sync.WaitGroup // waits for run

	mu     sync.Mutex
	queues map[string]struct{} // to be notified
	active bool                // true while run is running
	closed bool
}

// wake notifies River's clients of new jobs in the queues: immediately if no notification was sent
// just before, otherwise after a pause.
func (w *waker) wake(queues []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	for _, queue := range queues {
		w.queues[queue] = struct{}{}
	}
	if !w.active {
		w.active = true
		w.underway.Go(w.run)
	}
}

// run sends notifications until no queue is left. It then returns, so that an idle process has no
// goroutine.
func (w *waker) run() {
	for queues := w.take(); len(queues) > 0; queues = w.take() {
		ctx, cancel := context.WithTimeout(context.Background(), wakeTimeout)
		if err := w.send(ctx, queues); err != nil {
			w.logger.WarnContext(ctx, "queues not notified of new jobs, which wait for the next poll", slog.String(logkey.Err, err.Error()))
		}
		cancel()
		time.Sleep(wakePause)
	}
}

// take returns the queues to notify. If there is none, take records that run returns.
func (w *waker) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	queues := make([]string, 0, len(w.queues))
	for queue := range w.queues {
		queues = append(queues, queue)
	}
	clear(w.queues)
	w.active = len(queues) > 0
	slices.Sort(queues)
	return queues
}

// stop waits until the outstanding notifications are sent, or ctx is done. Later calls of wake do
// nothing.
func (w *waker) stop(ctx context.Context) error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	return drain.Wait(ctx, &w.underway)
}
