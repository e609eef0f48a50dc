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

// DefaultRate is the number of new events per second. With their duplicates and effects they take
// about half the capacity of two cores.
const DefaultRate = 50

// DefaultPause is the mean pause between two faults in one lane.
const DefaultPause = nemesis.DefaultPause

// DefaultTime is the default duration of traffic and faults.
const DefaultTime = time.Minute

// Cluster selects the database servers of a run.
type Cluster string

// The choices of database servers.
const (
	// Pair means a primary and a synchronous standby that the run itself promotes.
	Pair Cluster = "pair"
	// Patroni means three servers under Debian's Patroni, which chooses the primary. The run
	// injects only faults of these servers, unless Options.Only lists others.
	Patroni Cluster = "patroni"
)

// Options configure a run. A field with its zero value gets its default.
type Options struct {
	// Time is the duration of traffic and faults, without healing and checking. Defaults to
	// DefaultTime.
	Time time.Duration
	// Seed decides the faults, their times and the events sent. The processes themselves are not
	// deterministic. Defaults to 1.
	Seed uint64
	// Module is the root of the source tree of the programs. Required.
	Module string
	// Previous is a commit whose programs run alongside the programs of Module. If empty, no other
	// commit runs.
	Previous string
	// Dir keeps history, logs and clusters. If empty, the run uses a temporary directory, and
	// removes it if it finds no violation.
	Dir string
	// DSN is a server to use instead of the run's own server. The run creates a marked database
	// there and drops it at the end. The run injects no server faults.
	DSN secret.Value
	// Cluster selects the run's own servers. Defaults to Pair.
	Cluster Cluster
	// Production leaves leases and schedules at their defaults.
	Production bool
	// NoStandby omits the synchronous standby of the run's own server, and with it promotions.
	NoStandby bool
	// OwnDisks means that this process may mount disks: see cluster.Privately. Otherwise a
	// full disk is simulated.
	OwnDisks bool
	// Mine contains settings that override the run's settings.
	Mine scenario.Own
	// Redis starts a Redis in which the gateways share their cache of duplicates, and adds the
	// faults of that Redis.
	Redis bool
	// Gateways and Workers are the numbers of processes. Both default to 2. Each
	// odd-numbered gateway has a worker too.
	Gateways, Workers int
	// Rate is the number of new events per second. Defaults to DefaultRate.
	Rate float64
	// Pause is the mean pause between two faults in one lane. Defaults to DefaultPause.
	Pause time.Duration
	// Only lists the kinds of faults to inject. If empty, the run injects all kinds, or with
	// Patroni only the faults of the servers.
	Only []string
	// MinAcked and MinFaults are the minimum work of a meaningful run. They default to 10
	// deliveries a second, and a fault every 30 seconds in each lane that has faults. Under
	// Patroni, whose faults have one lane, MinFaults defaults to a fault every 10 seconds.
	MinAcked, MinFaults int
	// Patience is the maximum time without a decrease in the unfinished work, once the faults have
	// ended. A slow machine that makes progress can therefore take longer in total, but an event
	// that never finishes ends the wait. Patience must exceed the largest clock skew: a process
	// whose clock is ahead schedules its next attempts late by that skew. Defaults to 6 minutes, or
	// to 10 with Production.
	Patience time.Duration
	// Out receives progress messages. If nil, they are dropped.
	Out io.Writer
	// Command repeats this run. The history records it.
	Command string
}

func (o Options) withDefaults() Options {
	if o.Time == 0 {
		o.Time = DefaultTime
	}
	if o.Cluster == "" {
		o.Cluster = Pair
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
	if o.Out == nil {
		o.Out = io.Discard
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.Cluster != Pair && o.Cluster != Patroni:
		return fmt.Errorf("no cluster %q exists; choose from %s, %s", o.Cluster, Pair, Patroni)
	case o.Cluster == Patroni && !o.DSN.IsZero():
		return errors.New("a run on your own server cannot start a cluster")
	case o.Redis && o.Previous != "":
		return errors.New("a previous commit may not know the setting of a Redis")
	case o.Module == "":
		return errors.New("the root of the source tree is required")
	case o.Time < time.Second:
		return fmt.Errorf("a run of %s is too short: it must be at least 1s", o.Time)
	case o.Rate < 1:
		return fmt.Errorf("%g events a second are too few: there must be at least 1", o.Rate)
	}
	return nil
}

// checks returns the checker's options for this run.
func (o Options) checks() checker.Options {
	checks := checker.Options{MinAcked: o.MinAcked, MinFaults: o.MinFaults}
	if !o.Production {
		checks.MaxAttempts = 100 // the max_attempts that package scenario configures
	}
	return checks
}

// Result is the result of a run.
type Result struct {
	Verdict checker.Verdict
	Faults  []FaultCount
	Left    []string // omitted kinds of faults, with the reasons
	Gaps    []Gap    // times without accepted deliveries; nil unless Patroni ran the servers
	Crashes []string // processes that exited unexpectedly; nil unless Patroni ran the servers
	Acked   int64    // deliveries that were answered with 2xx
	History string   // path of the history
	Commit  string
	Lasted  time.Duration // duration of the whole run
	Command string        // command that repeats the run
}

// Add returns r with the faults, acknowledged deliveries and violations of other added.
func (r Result) Add(other Result) Result {
	r.Faults = Merge(r.Faults, other.Faults)
	r.Acked += other.Acked
	r.Verdict.Violations = append(r.Verdict.Violations, other.Verdict.Violations...)
	return r
}
