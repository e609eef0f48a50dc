package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/nemesis"
)

// inputFaults returns the faults that external input causes: storms of duplicates, strange bodies
// and configurations.
func (w *world) inputFaults() []nemesis.Fault {
	return []nemesis.Fault{
		{Kind: "storm_of_duplicates", Lane: nemesis.Input, Fire: w.storming},
		{Kind: "nothing_but_duplicates", Lane: nemesis.Input, Fire: w.onlyDuplicates},
		{Kind: "poison", Lane: nemesis.Input, Fire: w.poison},
		{Kind: "reload", Lane: nemesis.Input, Fire: w.reload(false)},
		{Kind: "reload_of_a_broken_file", Lane: nemesis.Input, Fire: w.reload(true)},
	}
}

// storming sends one event many times simultaneously.
func (w *world) storming(ctx context.Context, rnd *rand.Rand, struck func(target, detail string)) error {
	n := 20 + rnd.IntN(100)
	struck("gateways", fmt.Sprintf("%d times simultaneously", n))
	w.senders.Storm(ctx, n)
	return nil
}

// onlyDuplicates sends only past events for a while.
func (w *world) onlyDuplicates(ctx context.Context, rnd *rand.Rand, struck func(target, detail string)) error {
	w.senders.OnlyDuplicates(true)
	defer w.senders.OnlyDuplicates(false)
	struck("gateways", "")
	sleep(ctx, time.Second+upTo(rnd, 2*time.Second))
	return nil
}

// poison sends the strangest bodies simultaneously.
func (w *world) poison(ctx context.Context, rnd *rand.Rand, struck func(target, detail string)) error {
	n := 5 + rnd.IntN(20)
	struck("gateways", fmt.Sprintf("%d bodies", n))
	w.senders.Poison(ctx, n)
	return nil
}

// reload returns a function that changes or breaks a process's file and makes the process reload
// it.
func (w *world) reload(broken bool) fire {
	return func(ctx context.Context, rnd *rand.Rand, struck func(target, detail string)) error {
		s := w.one(rnd, roleGateway, roleWorker)
		change := s.config.Vary
		if broken {
			change = s.config.Break
		}
		if err := change(); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		if err := s.program().Reload(ctx); err != nil {
			return s.config.Mend() // the process has exited or has just started: nothing struck
		}
		struck(s.name, "SIGHUP")
		sleep(ctx, time.Second)
		return s.config.Mend()
	}
}
