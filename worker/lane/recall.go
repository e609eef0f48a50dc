package lane

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/outbox/fleet"
)

const (
	// recallEvery is the interval of checks for jobs that were set aside. recallNext is the
	// interval while a destination that is not paused has such jobs.
	recallEvery = time.Second
	recallNext  = 50 * time.Millisecond
)

// Aside lists and recalls the jobs that were set aside. fleet.Fleet implements it.
type Aside interface {
	AsideOf(ctx context.Context, destinations []string) ([]fleet.Aside, error)
	Recall(ctx context.Context, destination string, n int) (int, error)
}

// Recaller restarts jobs that were set aside, as many as their destination has free slots for. It
// checks the destinations where jobs are known to wait, and periodically all destinations.
type Recaller struct {
	aside    Aside
	lanes    map[string]*recalled
	allEvery time.Duration
	logger   *slog.Logger
}

// NewRecaller returns a Recaller for lanes. It checks all lanes every allEvery.
func NewRecaller(aside Aside, lanes []*Lane, allEvery time.Duration, logger *slog.Logger) *Recaller {
	r := &Recaller{aside: aside, lanes: make(map[string]*recalled, len(lanes)), allEvery: allEvery, logger: logger}
	for _, l := range lanes {
		r.lanes[l.name] = &recalled{Lane: l}
	}
	return r
}

// recalled is a lane, with the result of the last check for its jobs that were set aside.
type recalled struct {
	*Lane

	known    bool // true if jobs wait
	paused   bool // true if no job may start
	asked    time.Time
	last     time.Time // time of the last recall
	expected int64     // value of arrived once all recalled jobs have started
}

// places returns the number of jobs to recall: the lane's free slots, less the jobs that were
// recalled and have not started.
func (r *recalled) places(now time.Time) int {
	onTheirWay := r.expected - r.arrived.Load()
	if onTheirWay < 0 || now.Sub(r.last) > recallEvery { // another process has taken the jobs
		onTheirWay = 0
	}
	return r.Room(now) - int(onTheirWay)
}

// Run recalls jobs until ctx ends.
func (r *Recaller) Run(ctx context.Context) {
	var askedAll time.Time
	for wait := time.Duration(0); retry.Wait(ctx, wait) == nil; {
		now := time.Now()
		all := now.Sub(askedAll) >= r.allEvery
		if all {
			askedAll = now
		}
		if err := r.once(ctx, all); err != nil && ctx.Err() == nil {
			r.logger.LogAttrs(ctx, slog.LevelWarn, "jobs that were set aside keep waiting", slog.String(logkey.Err, err.Error()))
		}
		wait = recallEvery
		for _, l := range r.lanes {
			if l.known && !l.paused {
				wait = recallNext
			}
		}
	}
}

func (r *Recaller) once(ctx context.Context, all bool) error {
	now := time.Now()
	var ask []string
	for name, l := range r.lanes {
		// A lane in which jobs may wait is checked every recallEvery. It is checked immediately if jobs
		// are known to wait and could start.
		due := now.Sub(l.asked) >= recallEvery && (l.known || l.hasAside(now))
		if all || due || (l.known && !l.paused && l.places(now) > 0) {
			ask, l.asked = append(ask, name), now
		}
	}
	if len(ask) == 0 {
		return nil
	}
	found, err := r.aside.AsideOf(ctx, ask)
	if err != nil {
		return err
	}
	for _, name := range ask {
		r.lanes[name].known = false
	}
	var errs []error
	for _, aside := range found {
		l := r.lanes[aside.Destination]
		l.known, l.paused = true, aside.Paused
		if places := l.places(now); places > 0 && !aside.Paused {
			expected := l.arrived.Load()
			recalled, err := r.aside.Recall(ctx, aside.Destination, places)
			l.expected, l.last = max(l.expected, expected)+int64(recalled), now
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
