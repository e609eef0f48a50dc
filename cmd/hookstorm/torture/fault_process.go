package torture

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/nemesis"
)

const (
	// longerPause bounds the random part of a process's pause. It is longer than senders wait for a
	// response.
	longerPause = 8 * time.Second
	// leaseOfAttempt is the lease of an attempt with the timeouts of a run: 1 s, and 15 s for the
	// refetch and the ledger.
	leaseOfAttempt = 16 * time.Second
)

// failpointPatience is the maximum time in which a process must pass a failpoint often enough to
// fire it.
const failpointPatience = 6 * time.Second

// skews are the errors of a process's clock. They stay within the tolerance of signatures, so
// that deliveries continue.
var skews = []string{"+4m", "-4m", "+90s", "-90s"} //nolint:gochecknoglobals // a constant

// processFaults returns the faults of Hooklatch's own processes.
func (w *world) processFaults() []nemesis.Fault {
	faults := []nemesis.Fault{
		{Kind: "gateway_killed", Lane: nemesis.Process, Fire: w.kill(roleGateway)},
		{Kind: "worker_killed", Lane: nemesis.Process, Fire: w.kill(roleWorker)},
		{Kind: "application_killed", Lane: nemesis.Process, Fire: w.kill(roleApplication)},
		{Kind: "all_workers_killed", Lane: nemesis.Process, Fire: w.killAllWorkers},
		{Kind: "gateway_stopped", Lane: nemesis.Process, Fire: w.terminate(roleGateway)},
		{Kind: "worker_stopped", Lane: nemesis.Process, Fire: w.terminate(roleWorker)},
		{Kind: "gateway_paused", Lane: nemesis.Process, Fire: w.pause(time.Second, roleGateway)},
		{Kind: "worker_paused_past_lease", Lane: nemesis.Process, Fire: w.pause(leaseOfAttempt, roleWorker, roleApplication)},
		{Kind: "leader_killed", Lane: nemesis.Process, Fire: w.killLeader},
		{Kind: "failpoint_kill", Lane: nemesis.Process, Fire: w.failpoint("kill")},
		{Kind: "failpoint_error", Lane: nemesis.Process, Fire: w.failpoint("error")},
		{Kind: "failpoint_delay", Lane: nemesis.Process, Fire: w.failpoint("delay(300ms)")},
		{Kind: "clock_skewed", Lane: nemesis.Process, Fire: w.skewClock},
	}
	if w.opts.Previous != "" {
		faults = append(faults, nemesis.Fault{Kind: "previous_version", Lane: nemesis.Process, Fire: w.deployPrevious})
	}
	return faults
}

// one returns a random service with one of the roles.
func (w *world) one(rnd *rand.Rand, roles ...role) *service {
	of := w.services.of(roles...)
	return of[rnd.IntN(len(of))]
}

func (w *world) kill(roles ...role) fire {
	return func(ctx context.Context, rnd *rand.Rand, struck func(target, detail string)) error {
		s := w.one(rnd, roles...)
		if !s.program().Alive() {
			return nil
		}
		struck(s.name, "SIGKILL")
		if err := s.program().Kill(); err != nil {
			return err
		}
		return w.back(ctx, s)
	}
}

func (w *world) killAllWorkers(ctx context.Context, _ *rand.Rand, struck func(target, detail string)) error {
	struck("workers", "SIGKILL")
	workers := w.services.of(roleWorker, roleApplication)
	for _, s := range workers {
		if err := s.program().Kill(); err != nil {
			return err
		}
	}
	return w.back(ctx, workers...)
}

func (w *world) terminate(roles ...role) fire {
	return func(ctx context.Context, rnd *rand.Rand, struck func(target, detail string)) error {
		s := w.one(rnd, roles...)
		if !s.program().Alive() {
			return nil
		}
		struck(s.name, "SIGTERM")
		// A process that does not drain in time is killed. This does not count as a failure of
		// the fault.
		_ = s.program().Stop(ctx)
		return w.back(ctx, s)
	}
}

func (w *world) pause(least time.Duration, roles ...role) fire {
	return func(ctx context.Context, rnd *rand.Rand, struck func(target, detail string)) error {
		s := w.one(rnd, roles...)
		program := s.program()
		if !program.Alive() {
			return nil
		}
		d := least + upTo(rnd, longerPause)
		if err := program.Pause(); err != nil {
			return nil //nolint:nilerr // the process exited by itself at this moment: nothing struck
		}
		struck(s.name, "SIGSTOP for "+d.Round(time.Millisecond).String())
		sleep(ctx, d)
		return program.Continue()
	}
}

// killLeader kills the process that leads River, unless it is a gateway. The leader rescues jobs
// and starts the periodic ones.
func (w *world) killLeader(ctx context.Context, _ *rand.Rand, struck func(target, detail string)) error {
	leader, err := w.leader(ctx)
	if err != nil || leader == nil {
		return err
	}
	struck(leader.name, "SIGKILL of River's leader")
	if err := leader.program().Kill(); err != nil {
		return err
	}
	return w.back(ctx, leader)
}

// failpoint returns a function that restarts a process with an action at one of its failpoints, and
// later restarts it without the action.
func (w *world) failpoint(action string) fire {
	return func(ctx context.Context, rnd *rand.Rand, struck func(target, detail string)) error {
		s := w.one(rnd, roleGateway, roleWorker)
		places := w.places(s.role)
		if len(places) == 0 {
			return nil
		}
		place := places[rnd.IntN(len(places))]
		spec := fmt.Sprintf("%s=%s@%d", place, action, 1+rnd.IntN(20))
		fired := filepath.Join(w.Dir, "fired")
		if err := os.Remove(fired); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("forget the last failpoint: %w", err)
		}
		env := []string{"HOOKLATCH_FAILPOINTS=" + spec, "HOOKLATCH_FAILPOINT_FIRED=" + fired}
		if err := w.restart(ctx, s, start{build: buildFailpoint, env: env}); err != nil {
			return err
		}
		for ended := time.Now().Add(failpointPatience); time.Now().Before(ended) && sleep(ctx, 5*time.Millisecond); {
			if said, err := os.ReadFile(fired); err == nil && len(said) > 0 {
				struck(s.name, spec)
				sleep(ctx, upTo(rnd, 3*time.Second))
				break
			}
		}
		return w.restart(ctx, s, start{})
	}
}

// skewClock restarts a process with a wrong clock.
func (w *world) skewClock(ctx context.Context, rnd *rand.Rand, struck func(target, detail string)) error {
	s := w.one(rnd, roleGateway, roleWorker)
	skew := skews[rnd.IntN(len(skews))]
	if err := w.restart(ctx, s, start{build: buildFailpoint, env: []string{"HOOKLATCH_CLOCK=" + skew}}); err != nil {
		return err
	}
	struck(s.name, skew)
	sleep(ctx, 2*time.Second+upTo(rnd, 4*time.Second))
	return w.restart(ctx, s, start{})
}

// deployPrevious runs a process of the previous version for a while, as in a rolling deployment
// that is rolled back.
func (w *world) deployPrevious(ctx context.Context, rnd *rand.Rand, struck func(target, detail string)) error {
	s := w.one(rnd, roleGateway, roleWorker)
	if err := w.restart(ctx, s, start{build: buildPrevious}); err != nil {
		return err
	}
	struck(s.name, w.opts.Previous)
	sleep(ctx, 3*time.Second+upTo(rnd, 6*time.Second))
	return w.restart(ctx, s, start{})
}

// restart kills a service's process and waits until the service is running again. The parameter as
// describes the new start.
func (w *world) restart(ctx context.Context, s *service, as start) error {
	s.nextStart(as)
	program := s.program()
	if program.Alive() {
		_ = program.Continue() // only a fault can have paused the process
		if err := program.Kill(); err != nil {
			return err
		}
	}
	return w.back(ctx, s)
}

// back waits until the services, whose processes have exited, are running again. It does not check
// that they are ready: the database may be unavailable.
func (w *world) back(ctx context.Context, services ...*service) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
	defer cancel()
	for _, s := range services {
		for !s.program().Alive() {
			if !sleep(ctx, 10*time.Millisecond) {
				return fmt.Errorf("%s did not restart; its last output:\n%s", s.name, s.program().LastLines())
			}
		}
	}
	return nil
}
