package torture

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
)

const (
	// restartAfter is the time before a service is restarted, as a supervisor would do.
	restartAfter = 300 * time.Millisecond
	// startTimeout allows for a start on a busy machine while the database is unavailable.
	startTimeout = 20 * time.Second
	// readyTimeout bounds the wait until all processes can do their work.
	readyTimeout = 3 * time.Minute
)

// Names of the builds from which a service can be started.
const (
	buildCurrent   = "current"
	buildFailpoint = "failpoint"
	buildPrevious  = "previous"
)

// service is a process of the run that must always run. If it exits, the method keep restarts it,
// with the build and the environment that a fault chose, if any.
type service struct {
	name     string
	role     role
	line     string // name of the proxy's listener for the service's database connections
	config   *programs.Configuration
	programs map[string]*programs.Program // by build; at most one is running
	url      string                       // URL of the gateway
	history  *history.Writer

	mu      sync.Mutex
	current *programs.Program
	next    start // settings of the next start; the zero value is an ordinary start
}

// role is the kind of a process.
type role string

const (
	roleGateway     role = "gateway"
	roleWorker      role = "worker"
	roleApplication role = "application"
)

// start describes how to start a service.
type start struct {
	build string // build name; "" is the current build
	env   []string
}

// program returns the current process.
func (s *service) program() *programs.Program {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// nextStart changes only the next start of the service.
func (s *service) nextStart(next start) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = next
}

// begin starts the service as the field next describes. If the service lacks that build, begin uses
// the current build. Later starts are ordinary again.
func (s *service) begin(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.next
	s.next = start{}
	if next.build == "" {
		next.build = buildCurrent
	}
	program := s.programs[next.build]
	if program == nil {
		program = s.programs[buildCurrent]
	}
	if s.config != nil {
		// Broken files are only for reloads: no process starts with a broken file.
		if err := s.config.MendFor(next.build == buildPrevious); err != nil {
			return err
		}
	}
	if err := program.Start(ctx, next.env...); err != nil {
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	s.current = program
	return nil
}

// keep restarts the process whenever it has exited, until ctx is done.
func (s *service) keep(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.program().Exited():
		}
		if !sleep(ctx, restartAfter) {
			return
		}
		if err := s.begin(ctx); err != nil {
			s.history.Add(history.Record{Who: s.name, Kind: history.Note, Op: history.OpProcess, Text: err.Error()})
		}
	}
}

// ready waits until the process can do its work, even if the process exits and is restarted
// meanwhile.
func (s *service) ready(ctx context.Context) error {
	for {
		err := s.program().Ready(ctx)
		if err == nil {
			return nil
		}
		if !sleep(ctx, 100*time.Millisecond) {
			return fmt.Errorf("%s is not ready: %w: its last output:\n%s", s.name, err, s.program().LastLines())
		}
	}
}

// services keeps the services of a run running until stop is called.
type services struct {
	all     []*service
	cancel  context.CancelFunc
	keeping sync.WaitGroup
}

// start starts all services and waits until they can do their work.
func (s *services) start(ctx context.Context) error {
	ctx, s.cancel = context.WithCancel(ctx)
	for _, one := range s.all {
		if err := one.begin(ctx); err != nil {
			return err
		}
		s.keeping.Go(func() { one.keep(ctx) })
	}
	return s.ready(ctx)
}

func (s *services) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for _, one := range s.all {
		if err := one.ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

// sort orders the services by name, so that a seed always chooses the same services.
func (s *services) sort() {
	slices.SortFunc(s.all, func(a, b *service) int { return cmp.Compare(a.name, b.name) })
}

// of returns the services with one of the roles, in the order of the roles.
func (s *services) of(roles ...role) []*service {
	var of []*service
	for _, r := range roles {
		for _, one := range s.all {
			if one.role == r {
				of = append(of, one)
			}
		}
	}
	return of
}

// stop stops all services permanently. It may be called again.
func (s *services) stop(ctx context.Context) error {
	if s.cancel == nil {
		return nil
	}
	s.cancel()
	s.keeping.Wait()
	var failed error
	var stopping sync.WaitGroup
	var mu sync.Mutex
	for _, one := range s.all {
		stopping.Go(func() {
			if program := one.program(); program != nil {
				_ = program.Continue() // a paused process cannot exit
				if err := program.Stop(ctx); err != nil {
					mu.Lock()
					failed = fmt.Errorf("stop %s: %w", one.name, err)
					mu.Unlock()
				}
			}
		})
	}
	stopping.Wait()
	return failed
}
