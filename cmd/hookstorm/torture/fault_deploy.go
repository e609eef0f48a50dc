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
	// deployTimeout is the time in which a worker must announce a deployment, despite any other
	// faults.
	deployTimeout = 20 * time.Second
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
	before, _ := w.newestConfiguration(ctx) // 0 if the database is unavailable: any number is newer
	struck("all processes", string(change)+", "+how)
	w.deployed = next
	// A started deployment is completed, even after the end of the storm.
	ctx = context.WithoutCancel(ctx)
	announced := make(chan bool, 1)
	go func() { announced <- w.isAnnounced(ctx, deployTimeout, before, done) }()
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
	<-announced
	return nil
}

// bring makes a process load its configuration, by a reload or a restart.
func (w *world) bring(ctx context.Context, s *service, reloaded bool) error {
	if !reloaded {
		return w.restart(ctx, s, start{})
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_ = s.program().Reload(ctx) // a starting process reads the file anyway
	return nil
}

// isAnnounced reports whether a worker announces a newer configuration within a time limit, and
// records the result. The parameter before is the number of the newest configuration so far.
func (w *world) isAnnounced(ctx context.Context, limit time.Duration, before int64, done *history.Operation) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for sleep(ctx, 10*time.Millisecond) {
		var is bool
		err := w.primary.QueryRow(ctx, `SELECT EXISTS (SELECT FROM hooklatch.workers WHERE configuration > $1 AND dispatches)`, before).Scan(&is)
		if err == nil && is {
			done.End(history.OK, "", nil)
			return true
		}
	}
	done.End(history.Unknown, "no worker announced it in time", nil)
	return false
}

// newestConfiguration returns the number of the newest announced configuration.
func (w *world) newestConfiguration(ctx context.Context) (newest int64, err error) {
	err = w.primary.QueryRow(ctx, `SELECT COALESCE(max(number), 0) FROM hooklatch.configurations`).Scan(&newest)
	return newest, err
}

// deployLast gives all processes a configuration with which workers can dispatch every event.
func (w *world) deployLast(ctx context.Context) error {
	w.deployed = w.deployed.Last()
	done := w.History.Begin(history.Record{Who: "nemesis", Op: history.OpDeploy, Deploy: &history.Deploy{
		Number: w.deployed.Number, Change: "the last", Source: scenario.Moving, Route: w.deployed.Route(), Types: w.deployed.Types, Late: true,
	}})
	before, err := w.newestConfiguration(ctx)
	if err != nil {
		return fmt.Errorf("deploy the last configuration: %w", err)
	}
	for _, s := range w.services.all {
		if err := s.config.Deploy(w.deployed); err != nil {
			return err
		}
		if err := w.bring(ctx, s, true); err != nil {
			return err
		}
	}
	if !w.isAnnounced(ctx, w.opts.Patience, before, done) {
		return fmt.Errorf("deploy the last configuration: no worker announced it within %s", w.opts.Patience)
	}
	return nil
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
