package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/nemesis"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
)

const (
	// beside is the maximum pause between two steps of a deployment. Meanwhile, processes of two
	// configurations run side by side.
	beside = 1500 * time.Millisecond
	// reloadAgain is the time after which a process is told again to reload its configuration.
	reloadAgain = 2 * time.Second
)

// deployFaults returns the faults that change configurations.
func (w *world) deployFaults() []nemesis.Fault {
	faults := []nemesis.Fault{{Kind: "reload_of_a_cut_file", Lane: nemesis.Input, Fire: w.reloadCut}}
	if w.opts.Previous != "" {
		w.left = append(w.left, "rolling deployments: a worker of the previous version may dispatch with an older configuration")
		return faults
	}
	return append(faults, nemesis.Fault{Kind: "rolling_deployment", Lane: nemesis.Process, Fire: w.deploy})
}

// deploy gives the next configuration to all processes, one after another. In 20 deployments, each
// change occurs in all four ways: gateways or workers first, by restarts or by reloads. In every
// second deployment, an old process also restarts after the first process has changed.
func (w *world) deploy(ctx context.Context, rnd *rand.Rand, struck func(target, detail string)) error {
	n := w.deployed.Number
	changes := scenario.Changes()
	change := changes[n%len(changes)]
	next := w.deployed.Next(change)
	workersFirst, reloaded, again := n/len(changes)%2 == 0, n/2%2 == 0, n%2 == 0
	order := w.services.of(roleGateway, roleWorker, roleApplication)
	if workersFirst {
		order = w.services.of(roleWorker, roleApplication, roleGateway)
	}
	how := fmt.Sprintf("%s first, reload: %t, an old process restarts: %t", order[0].role, reloaded, again)
	done := w.History.Begin(history.Record{Who: "nemesis", Op: history.OpDeploy, Deploy: &history.Deploy{
		Number: next.Number, Change: string(change), Order: how, Source: scenario.Moving, Route: next.Route(), Types: next.Types, Late: next.Late,
	}})
	struck("all processes", string(change)+", "+how)
	w.deployed = next
	// A started deployment is completed, even after the end of the storm.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.opts.Patience)
	defer cancel()
	followed := w.follow(ctx, next, done)
	for i, s := range order {
		if err := s.config.Deploy(next); err != nil {
			return err
		}
		if err := w.bring(ctx, s, reloaded); err != nil {
			return err
		}
		sleep(ctx, beside/5+upTo(rnd, beside*4/5))
		if i == 0 && again {
			if err := w.restart(ctx, order[1], start{}); err != nil {
				return err
			}
			sleep(ctx, upTo(rnd, beside))
		}
	}
	return w.complete(ctx, reloaded, followed)
}

// bring makes a process load its configuration, by a reload or a restart.
func (w *world) bring(ctx context.Context, s *service, reloaded bool) error {
	if !reloaded {
		return w.restart(ctx, s, start{})
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_ = s.program().Reload(ctx) // a process that does not listen yet is reloaded later, by complete
	return nil
}

// complete waits until a followed deployment ends, and returns its error. A process refuses a reload
// while it cannot announce the configuration, so complete repeats the reloads.
func (w *world) complete(ctx context.Context, reloaded bool, followed <-chan error) error {
	for {
		select {
		case err := <-followed:
			return err
		case <-time.After(reloadAgain):
		}
		if !reloaded {
			continue
		}
		for _, s := range w.services.all {
			if err := w.bring(ctx, s, true); err != nil {
				return err
			}
		}
	}
}

// follow records the moment at which the first process that dispatches events has announced a
// deployment. The returned channel yields a value when all processes have announced it, or an error
// when ctx is done. If the next deployment began earlier, a late process could announce this one
// after it, and would make this one the newest again.
func (w *world) follow(ctx context.Context, d scenario.Deployment, done *history.Operation) <-chan error {
	ended := make(chan error, 1)
	needed := len(w.services.all)
	if w.opts.Previous != "" {
		needed = 1 // a process of the previous version may announce no sources
	}
	go func() {
		var announced int
		var dispatches, recorded bool
		for (!recorded || announced < needed) && sleep(ctx, 10*time.Millisecond) {
			var pids []int
			for _, s := range w.services.all {
				pids = append(pids, s.program().PID())
			}
			// The id of a process contains its host, its pid and a random part.
			err := w.primary.QueryRow(ctx, `
				SELECT count(*), COALESCE(bool_or(dispatches), false)
				FROM hooklatch.workers
				WHERE $1 = ANY(sources) AND substring(id FROM '-(\d+)-[^-]*$')::int = ANY($2)`, d.Mark(), pids).Scan(&announced, &dispatches)
			if err == nil && dispatches && !recorded {
				recorded = true
				done.End(history.OK, "", nil)
			}
		}
		if !recorded {
			done.End(history.Unknown, "no worker announced it in time", nil)
		}
		if !recorded || announced < needed {
			ended <- fmt.Errorf("deployment %d: %d of %d processes announced it within %s", d.Number, announced, needed, w.opts.Patience)
		}
		close(ended)
	}()
	return ended
}

// deployLast gives all processes a configuration with which workers can dispatch every event.
func (w *world) deployLast(ctx context.Context) error {
	w.deployed = w.deployed.Last()
	done := w.History.Begin(history.Record{Who: "nemesis", Op: history.OpDeploy, Deploy: &history.Deploy{
		Number: w.deployed.Number, Change: "the last", Source: scenario.Moving, Route: w.deployed.Route(), Types: w.deployed.Types, Late: true,
	}})
	for _, s := range w.services.all {
		if err := s.config.Deploy(w.deployed); err != nil {
			return err
		}
		if err := w.bring(ctx, s, true); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, w.opts.Patience)
	defer cancel()
	return w.complete(ctx, true, w.follow(ctx, w.deployed, done))
}

// reloadCut makes a process reload its file while only some of its lines are written.
func (w *world) reloadCut(ctx context.Context, rnd *rand.Rand, struck func(target, detail string)) error {
	s := w.one(rnd, roleGateway, roleWorker)
	lines := rnd.IntN(1000)
	if err := s.config.Cut(lines); err != nil {
		return err
	}
	reading, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	err := s.program().Reload(reading)
	if err := s.config.Mend(); err != nil {
		return err
	}
	if err != nil {
		return nil // the process has exited or has just started: nothing struck
	}
	struck(s.name, "SIGHUP while the file was written")
	sleep(ctx, time.Second)
	return nil
}
