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
	// wakePause is between two notifications: what is inserted meanwhile shares
	// the next one.
	wakePause = 10 * time.Millisecond
	// wakeTimeout bounds one.
	wakeTimeout = 5 * time.Second
)

// queueNames are what a notification is about.
type queueNames struct {
	Topic  string
	Queues []string
}

// waker tells River's clients of new jobs after their transaction was committed, and
// outside of it. Commits that notify wait for each other, all those of a server
// one by one until each is on disk and at the standby. A process that notifies for
// itself does so seldom, and its commit waits for nobody. What it loses when it ends
// costs one poll.
type waker struct {
	send   func(ctx context.Context, queues []string) error
	logger *slog.Logger

	underway sync.WaitGroup // run

	mu     sync.Mutex
	queues map[string]struct{} // to be told of
	active bool                // whether run is at work
	closed bool
}

// wake tells of the queues some time later: at once, when nothing was told just now.
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

// run ends when there is nothing to tell, so an idle process has no goroutine.
func (w *waker) run() {
	for queues := w.take(); len(queues) > 0; queues = w.take() {
		ctx, cancel := context.WithTimeout(context.Background(), wakeTimeout)
		if err := w.send(ctx, queues); err != nil {
			w.logger.WarnContext(ctx, "queues not told of new jobs, which wait for the next poll", slog.String(logkey.Err, err.Error()))
		}
		cancel()
		time.Sleep(wakePause)
	}
}

// take returns the queues to tell of, and counts run out when there are none.
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

// stop tells what is still to be told. Nothing is told afterwards.
func (w *waker) stop(ctx context.Context) error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	return drain.Wait(ctx, &w.underway)
}
