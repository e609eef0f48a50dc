// Package bench measures Hooklatch against its contenders, in turn and in one run. It uses real
// processes, gives every system with a database a separate, durable Postgres, and reports the cost
// of every process separately.
package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/meter"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/stage"
)

// bench holds the servers and processes that one run starts.
type bench struct {
	opts     Options
	sizes    sizes
	stage    *stage.Stage
	report   *report.Report
	binaries binaries
	receiver *receiver
	servers  map[schemaKind]*postgres
	started  int // number of processes so far
	round    int
	// ends are called in reverse order at the end of a turn.
	ends []func(ctx context.Context) error

	stolen func() func() float64 // stolenFromNow, except in tests
	marks  int                   // number of rounds begun so far; a round's number is its mark in the report
}

// Run measures the scenarios in the options. If a measurement fails, Run returns the measurements
// so far with the error. It returns no report if the options are invalid or the stage cannot be
// created.
func Run(ctx context.Context, opts Options) (_ *report.Report, err error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	b := &bench{
		opts: opts, sizes: opts.sizes(), servers: map[schemaKind]*postgres{}, stolen: stolenFromNow,
		report: &report.Report{Command: opts.Command, Began: time.Now().UTC(), Rounds: opts.Rounds, Quick: opts.Quick, Machine: meter.Machine(), Rows: opts.Rows},
	}
	if b.stage, err = stage.New(stage.Options{Who: "bench", Out: opts.Out, DropLogs: true}); err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, b.end(context.WithoutCancel(ctx)))
		b.report.Took = time.Since(b.report.Began).Round(time.Second)
		b.report.Judge()
	}()
	b.sayf("build the programs")
	if err := b.build(ctx); err != nil {
		return b.report, err
	}
	if b.receiver, err = newReceiver(); err != nil {
		return b.report, err
	}
	return b.report, b.measure(ctx)
}

// rowPatience extends the time limit of scenarios that run alone, for each row of Options.Rows.
const rowPatience = 400 * time.Microsecond

// measure runs the chosen scenarios. In each round, it runs the scenarios that take turns. After
// the last round, it runs the scenarios that compare only their own subjects.
func (b *bench) measure(ctx context.Context) error {
	turns, alone := b.chosen()
	if len(turns) > 0 { // otherwise the report would show empty rounds as undisturbed ones
		for b.round = range b.rounds {
			if err := b.takeTurns(ctx, turns); err != nil {
				return err
			}
		}
	}
	for _, s := range alone {
		b.sayf("%s: %s", s.Name, s.What)
		if err := b.turn(ctx, s, b.sizes.patience*time.Duration(b.mostRounds())+rowPatience*time.Duration(b.opts.Rows)); err != nil {
			return err
		}
	}
	return nil
}

// takeTurns gives each scenario its turn in a round. All scenarios that only accept events share
// one turn.
func (b *bench) takeTurns(ctx context.Context, turns []Scenario) error {
	taking := Scenario{Name: "limit, naive and accept"}
	for _, s := range turns {
		taking.takes = append(taking.takes, s.takes...)
	}
	taking.run = func(ctx context.Context, b *bench) error { return b.takeEvents(ctx, taking.takes) }
	if taking.takes != nil {
		turns = append([]Scenario{taking}, turns...)
	}
	for _, s := range turns {
		if s.run == nil {
			continue
		}
		b.sayf("round %d: %s", b.round+1, s.Name)
		if err := b.turn(ctx, s, b.sizes.patience); err != nil {
			return err
		}
	}
	return nil
}

// chosen returns the scenarios to run, in the order of Scenarios.
func (b *bench) chosen() (turns, alone []Scenario) {
	for _, s := range Scenarios() {
		switch {
		case !slices.Contains(b.opts.Only, s.Name):
		case s.Turns:
			turns = append(turns, s)
		default:
			alone = append(alone, s)
		}
	}
	return turns, alone
}

// turn runs a scenario once, with a time limit.
func (b *bench) turn(ctx context.Context, s Scenario, patience time.Duration) (err error) {
	defer func() {
		for _, end := range slices.Backward(b.ends) {
			err = errors.Join(err, end(context.WithoutCancel(ctx)))
		}
		b.ends = nil
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it took longer than %s", patience))
	defer cancel()
	if err := s.run(ctx, b); err != nil {
		return fmt.Errorf("measure %s: %w", s.Name, err)
	}
	return nil
}

// server returns the Postgres for subjects with this schema, and starts it if necessary. These
// subjects share the server, and each has its own database there.
func (b *bench) server(ctx context.Context, kind schemaKind) (*postgres, error) {
	if p := b.servers[kind]; p != nil {
		return p, nil
	}
	p, err := b.startPostgres(ctx, kind, cluster.Options{})
	if err != nil {
		return nil, err
	}
	b.servers[kind] = p
	return p, nil
}

// ownServer starts a Postgres that stops at the end of the turn.
func (b *bench) ownServer(ctx context.Context, kind schemaKind, change cluster.Options) (*postgres, error) {
	p, err := b.startPostgres(ctx, kind, change)
	if err != nil {
		return nil, err
	}
	b.ends = append(b.ends, p.stop)
	return p, nil
}

// startPostgres starts a server. For the first server of the run, it adds the version and
// settings to the report.
func (b *bench) startPostgres(ctx context.Context, kind schemaKind, change cluster.Options) (*postgres, error) {
	p, err := startPostgres(ctx, kind, change)
	if err != nil || b.report.Postgres != "" {
		return p, err
	}
	if b.report.Postgres, b.report.Settings, err = p.say(ctx); err != nil {
		return nil, errors.Join(err, p.stop(context.WithoutCancel(ctx)))
	}
	return p, nil
}

// end stops all servers and processes and removes every file.
func (b *bench) end(ctx context.Context) error {
	b.stage.Forget()
	failed := []error{b.stage.Kill()}
	for _, p := range b.servers {
		failed = append(failed, p.stop(ctx))
	}
	if b.receiver != nil {
		b.receiver.stop()
	}
	return errors.Join(append(failed, b.stage.Stop(ctx))...)
}

func (b *bench) sayf(format string, args ...any) {
	b.stage.Sayf(time.Now().Format(time.TimeOnly)+" "+format, args...)
}
