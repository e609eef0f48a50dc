package bench

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Defaults of a published run.
const (
	DefaultRounds  = 5
	DefaultEvents  = 50_000
	DefaultBacklog = 20_000
	DefaultRate    = 1000
	DefaultRows    = 10_000_000
)

// Options configure a run. A field with its zero value gets its default.
type Options struct {
	// Module is the root of the programs' source tree. Required.
	Module string
	// Self is the program that runs the bench. Its command `bench server` starts the servers
	// against which Hooklatch is measured. If empty, Run builds it from Module.
	Self string
	// Only lists the names of the scenarios to run, from Scenarios. If empty, Run measures the
	// scenarios that take turns.
	Only []string
	// Quick makes all sizes small. It shows that everything works, but its figures mean little.
	Quick bool
	// Rounds is the number of turns of each scenario. Defaults to DefaultRounds, or to 1 with
	// Quick.
	Rounds int
	// Events is the number of full lifecycles that the scenarios life and peers measure. Defaults
	// to DefaultEvents, or to 1,000 with Quick.
	Events int
	// Backlog is the number of events created while the receiver is down. Defaults to
	// DefaultBacklog, or to 500 with Quick.
	Backlog int
	// Rate is the constant arrival rate, in events per second. Defaults to DefaultRate, or to 200
	// with Quick.
	Rate float64
	// Rows is the number of dedup rows that the scenario growth creates in each of its two
	// databases. It is also the number of events and effects that the scenario years creates. The
	// scenario waiting creates a tenth of Rows as waiting effects and a fifth as finished ones. The
	// scenario backfill fetches, and the scenario diff compares, a hundredth of Rows. Defaults to
	// DefaultRows, or to 20,000 with Quick.
	Rows int
	// Previous is a commit with which the scenarios years, collection and life compare this tree.
	// If empty, no other commit is measured.
	Previous string
	// Out receives progress messages. If nil, they are dropped.
	Out io.Writer
	// Command is the command line that repeats this run. The report contains it.
	Command string
}

// sizes sets the size and duration of the parts of a run.
type sizes struct {
	accept    int           // events of a closed loop with 64 connections
	single    int           // events over one connection
	open      time.Duration // duration of constant arrival
	warm      int           // events before anything is measured
	idle      int           // single events on an idle system
	idleEvery time.Duration
	idleAfter time.Duration // pause before an idle system is measured: Postgres counts transactions late, and a gateway returns memory after 5 s
	idleTime  time.Duration // time without any event
	patience  time.Duration // time limit of a scenario's turn

	connections int // idle connections
	data        int // lifecycles measured by cold, waiting, upkeep and profile; before it measures, cold runs as many to fill its tables
	years       int // lifecycles measured right after a checkpoint
	few, many   int // effects that wait in an order
	heads       int // deliveries from an order's head that are measured

	steady time.Duration // duration of live traffic without a backfill or diff
}

func (o Options) withDefaults() Options {
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.Quick {
		o.Rounds, o.Events, o.Backlog, o.Rate = cmp.Or(o.Rounds, 1), cmp.Or(o.Events, 1000), cmp.Or(o.Backlog, 500), cmp.Or(o.Rate, 200)
		o.Rows = cmp.Or(o.Rows, 20_000)
	}
	o.Rounds, o.Events = cmp.Or(o.Rounds, DefaultRounds), cmp.Or(o.Events, DefaultEvents)
	o.Backlog, o.Rate = cmp.Or(o.Backlog, DefaultBacklog), cmp.Or(o.Rate, DefaultRate)
	o.Rows = cmp.Or(o.Rows, DefaultRows)
	if len(o.Only) == 0 {
		for _, s := range Scenarios() {
			if s.Turns {
				o.Only = append(o.Only, s.Name)
			}
		}
	}
	return o
}

func (o Options) sizes() sizes {
	if o.Quick {
		return sizes{
			accept: 1500, single: 50, open: time.Second / 2, warm: 128, idle: 20, idleEvery: 50 * time.Millisecond, idleAfter: time.Second, idleTime: 2 * time.Second,
			// The scenario peers takes two minutes while eight other processes are busy. The limit
			// only stops a turn that hangs.
			patience: 6 * time.Minute, connections: 500, data: 500, years: 300, few: 10, many: 300, heads: 100,
			steady: 2 * time.Second,
		}
	}
	return sizes{
		accept: 40_000, single: 2000, open: 5 * time.Second, warm: 1000, idle: 200, idleEvery: 50 * time.Millisecond, idleAfter: 11 * time.Second, idleTime: 10 * time.Second,
		patience: 15 * time.Minute, connections: 10_000, data: 20_000, years: 5000, few: 10, many: 50_000, heads: 200,
		steady: 30 * time.Second,
	}
}

func (o Options) validate() error {
	switch {
	case o.Module == "":
		return errors.New("the root of the source tree is required")
	case o.Rounds < 1 || o.Events < 10 || o.Backlog < 10:
		return errors.New("there must be at least 1 round, 10 events and a backlog of 10")
	case o.Rows < 1000:
		return errors.New("the large tables must have at least 1,000 rows")
	case o.Rate <= 0:
		return fmt.Errorf("the rate must be positive, but is %g events a second", o.Rate)
	}
	for _, name := range o.Only {
		if !slices.ContainsFunc(Scenarios(), func(s Scenario) bool { return s.Name == name }) {
			return fmt.Errorf("there is no scenario %q; there are %s", name, strings.Join(ScenarioNames(), ", "))
		}
	}
	return nil
}
