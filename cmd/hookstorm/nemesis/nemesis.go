// Package nemesis causes the faults of a run. It deals faults to lanes that run side by side,
// so that faults of different kinds combine.
package nemesis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/internal/retry"
)

// inFlightWait is the maximum time for which a fault waits for a delivery to be in progress. A
// fault in an idle system shows nothing.
const inFlightWait = 2 * time.Second

// DefaultPause is the mean pause between two faults of a lane.
const DefaultPause = 3 * time.Second

// Lane groups the faults that have the same target. Faults of one lane follow one another. Faults
// of different lanes overlap.
type Lane string

// The lanes.
const (
	Server   Lane = "server"   // the whole Postgres server
	Network  Lane = "network"  // connections to the server
	Session  Lane = "session"  // Hooklatch's sessions and tables in the database
	Process  Lane = "process"  // gateways, workers and the application
	Receiver Lane = "receiver" // the receivers of effects
	Redis    Lane = "redis"    // the gateways' shared cache of duplicates
	Input    Lane = "input"    // external input: storms, poison, configurations
)

// Fault is one kind of fault.
type Fault struct {
	Kind      string
	Lane      Lane
	Simulated bool // replaces a fault that cannot be injected on this machine
	// Fire injects the fault, calls the function struck at the moment at which the fault strikes,
	// and returns when the fault has healed. It must return soon after ctx is done. A fault that
	// did not call struck did not fire.
	Fire func(ctx context.Context, rnd *rand.Rand, struck func(target, detail string)) error
}

// Options configure a Nemesis.
type Options struct {
	History *history.Writer
	Faults  []Fault
	Seed    uint64
	// Load returns the number of deliveries in progress, and the number acknowledged in the last
	// second. Required.
	Load func() (inFlight, acked int)
	// Pause is the mean time between the end of a fault and the next fault in its lane. Defaults
	// to DefaultPause.
	Pause time.Duration
}

// Nemesis deals faults until it is stopped.
type Nemesis struct {
	opts    Options
	cancel  context.CancelFunc
	lanes   sync.WaitGroup
	mu      sync.Mutex
	failed  []error
	stopped sync.Once
}

// New returns a Nemesis that does nothing yet.
func New(opts Options) *Nemesis {
	opts.Pause = cmp.Or(opts.Pause, DefaultPause)
	return &Nemesis{opts: opts, cancel: func() {}}
}

// Start begins to deal faults, in one goroutine for each lane.
func (n *Nemesis) Start(ctx context.Context) {
	ctx, n.cancel = context.WithCancel(ctx)
	decks := map[Lane]*deck{}
	for i, fault := range n.opts.Faults {
		lane := decks[fault.Lane]
		if lane == nil {
			lane = &deck{rnd: rand.New(rand.NewPCG(n.opts.Seed, uint64(i)))} //nolint:gosec // a seed must repeat the run
			decks[fault.Lane] = lane
		}
		lane.faults = append(lane.faults, fault)
	}
	for _, lane := range decks {
		n.lanes.Go(func() { n.run(ctx, lane) })
	}
}

// Stop ends all faults and returns when they have healed. It returns the errors of faults that
// could not be injected or healed before Stop was called or the context of Start was done. Later
// errors are only in the history.
func (n *Nemesis) Stop() error {
	n.stopped.Do(func() {
		n.cancel()
		n.lanes.Wait()
	})
	n.mu.Lock()
	defer n.mu.Unlock()
	return errors.Join(n.failed...)
}

// run deals the faults of one lane until ctx is done.
func (n *Nemesis) run(ctx context.Context, lane *deck) {
	for {
		// The pause is between half and one and a half times the mean, so that faults of
		// different lanes overlap at changing moments.
		pause := time.Duration((0.5 + lane.rnd.Float64()) * float64(n.opts.Pause))
		if !sleep(ctx, pause) {
			return
		}
		n.waitForDeliveries(ctx)
		if ctx.Err() != nil {
			return
		}
		if fault := lane.next(); !n.fire(ctx, fault, lane.rnd) {
			lane.miss(fault)
		}
	}
}

// waitForDeliveries returns when a delivery is in progress, or after inFlightWait.
func (n *Nemesis) waitForDeliveries(ctx context.Context) {
	for deadline := time.Now().Add(inFlightWait); time.Now().Before(deadline); {
		if inFlight, _ := n.opts.Load(); inFlight > 0 || !sleep(ctx, 2*time.Millisecond) {
			return
		}
	}
}

// fire injects one fault, records when the fault struck and healed, and reports whether it struck.
func (n *Nemesis) fire(ctx context.Context, fault Fault, rnd *rand.Rand) bool {
	var op *history.Operation
	struck := func(target, detail string) {
		if op != nil {
			return
		}
		inFlight, acked := n.opts.Load()
		op = n.opts.History.Begin(history.Record{Who: "nemesis", Op: history.OpFault, Fault: &history.Fault{
			Kind: fault.Kind, Target: target, Detail: detail, Simulated: fault.Simulated, InFlight: inFlight, AckedLast: acked,
		}})
	}
	err := fault.Fire(ctx, rnd, struck)
	if op == nil {
		n.opts.History.Add(history.Record{
			Who: "nemesis", Kind: history.Fail, Op: history.OpFault, Text: text(err), Fault: &history.Fault{Kind: fault.Kind, Simulated: fault.Simulated},
		})
	} else {
		op.End(history.OK, text(err), nil)
	}
	if err != nil && ctx.Err() == nil {
		n.mu.Lock()
		n.failed = append(n.failed, fmt.Errorf("fault %s: %w", fault.Kind, err))
		n.mu.Unlock()
	}
	return op != nil
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// sleep waits for d, or until ctx is done, and reports whether it waited for d.
func sleep(ctx context.Context, d time.Duration) bool { return retry.Wait(ctx, d) == nil }
