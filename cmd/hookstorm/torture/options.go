package torture

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/nemesis"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// DefaultRate is the number of new events sent in a second. With their duplicates and effects
// they take about half of what two cores can do.
const DefaultRate = 50

// DefaultPause is the mean pause between two faults of one kind of target.
const DefaultPause = nemesis.DefaultPause

// DefaultTime is how long traffic and faults last.
const DefaultTime = time.Minute

// Options configure a run. Zero values are the defaults.
type Options struct {
	// Time is how long traffic and faults last, without healing and checking. Defaults to
	// DefaultTime.
	Time time.Duration
	// Seed decides the faults, their times and the events sent. The processes themselves are
	// not deterministic. Defaults to 1.
	Seed uint64
	// Module is the root of the source tree of the programs. Required.
	Module string
	// Previous is a commit whose programs run beside those of Module. Empty: none.
	Previous string
	// Dir keeps history, logs and clusters. Empty: a directory of its own, which is removed
	// after a run without violations.
	Dir string
	// DSN is a server to use instead of the run's own one. The run creates a marked database
	// there and drops it at the end. It makes no faults of the server.
	DSN secret.Value
	// Production leaves leases and schedules at their defaults.
	Production bool
	// NoStandby omits the synchronous standby of the run's own server, and with it
	// promotions.
	NoStandby bool
	// OwnDisks means that this process may mount disks: see cluster.Privately. Otherwise a
	// full disk is simulated.
	OwnDisks bool
	// Mine are settings that override those of the run.
	Mine scenario.Own
	// Gateways and Workers are the numbers of processes. Default to 2 and 2.
	Gateways, Workers int
	// Rate is the number of new events sent in a second. Defaults to DefaultRate.
	Rate float64
	// Pause is the mean pause between two faults of one kind of target. Defaults to
	// DefaultPause.
	Pause time.Duration
	// Only names the faults to make. Nil: all.
	Only []string
	// MinAcked and MinFaults are the least that a run must have done to prove anything.
	// Default to 10 deliveries a second, and a fault in 5 seconds.
	MinAcked, MinFaults int
	// Patience is how long all work may take to finish after the faults. It must exceed the
	// largest clock skew, because a process whose clock is ahead schedules its next tries
	// later by as much. Defaults to 6 minutes, 10 at the times of production.
	Patience time.Duration
	// Out receives progress messages. Defaults to nothing.
	Out io.Writer
	// Command repeats this run. The history records it.
	Command string
}

func (o Options) withDefaults() Options {
	if o.Time == 0 {
		o.Time = DefaultTime
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.Gateways == 0 {
		o.Gateways = 2
	}
	if o.Workers == 0 {
		o.Workers = 2
	}
	if o.Rate == 0 {
		o.Rate = DefaultRate
	}
	if o.Patience == 0 {
		o.Patience = 6 * time.Minute
		if o.Production {
			o.Patience = 10 * time.Minute
		}
	}
	if o.MinAcked == 0 {
		o.MinAcked = int(10 * o.Time.Seconds())
	}
	if o.MinFaults == 0 {
		o.MinFaults = int(o.Time.Seconds() / 5)
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.Module == "":
		return errors.New("the root of the source tree is required")
	case o.Time < time.Second:
		return fmt.Errorf("a run of %s is too short: it must be at least 1s", o.Time)
	case o.Rate < 1:
		return fmt.Errorf("%g events a second are too few: there must be at least 1", o.Rate)
	}
	return nil
}

// checks returns the least that a run must have done to prove anything.
func (o Options) checks() checker.Options {
	checks := checker.Options{MinAcked: o.MinAcked, MinFaults: o.MinFaults}
	if !o.Production {
		checks.MaxAttempts = 100 // as in scenario
	}
	return checks
}

// Result is the result of a run.
type Result struct {
	Verdict checker.Verdict
	Faults  []FaultCount
	Left    []string // kinds of faults that were left out, and why
	Acked   int64    // deliveries that were answered 2xx
	History string   // file
	Commit  string
	Lasted  time.Duration // of the whole run
	Command string        // repeats the run
}

// Add returns the combined result of two runs.
func (r Result) Add(other Result) Result {
	r.Faults = Merge(r.Faults, other.Faults)
	r.Acked += other.Acked
	r.Verdict.Violations = append(r.Verdict.Violations, other.Verdict.Violations...)
	return r
}
