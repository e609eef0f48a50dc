// Package stage sets up the environment of every hookstorm run: a directory with a history, a
// Postgres with Hooklatch's tables, the servers that processes call, and the processes. Torture,
// sweep, planted bugs, bench and upgrade share it.
package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/receivers"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/schema"
)

// HistoryFile is the name of the history in the directory of a run.
const HistoryFile = "history.jsonl"

// Options configure a Stage.
type Options struct {
	// Who names the run in the history. Required.
	Who string
	// Dir is the directory for history, configurations, logs and servers. If empty, New creates a
	// temporary directory, which Stop removes after Forget.
	Dir string
	// Watch, if not nil, receives each record of the history as it is written.
	Watch func(history.Record)
	// Out receives progress messages. If nil, they are dropped.
	Out io.Writer
	// DropLogs keeps only the end of the processes' output, because writing it takes CPU.
	DropLogs bool
}

// Stage holds everything that one run starts. New creates a Stage, and Stop stops everything that
// it holds.
type Stage struct {
	Dir     string
	History *history.Writer

	opts   Options
	own    bool // the stage created the directory
	forget bool

	mu       sync.Mutex
	programs []*programs.Program
	steps    []step // steps of Stop, executed from last to first
}

type step struct {
	name string
	end  func(ctx context.Context) error
}

// New creates the directory and begins the history.
func New(o Options) (_ *Stage, err error) {
	s := &Stage{Dir: o.Dir, own: o.Dir == "", opts: o}
	if s.own {
		if s.Dir, err = os.MkdirTemp("", "hookstorm-"+o.Who+"-*"); err != nil {
			return nil, fmt.Errorf("make a directory for the run: %w", err)
		}
	}
	//nolint:gosec // The account that runs Postgres must be able to pass through it.
	if err := errors.Join(os.MkdirAll(s.Dir, 0o755), os.Chmod(s.Dir, 0o755)); err != nil {
		return nil, fmt.Errorf("make the directory of the run: %w", err)
	}
	file, err := os.Create(s.HistoryPath())
	if err != nil {
		return nil, fmt.Errorf("begin the history: %w", err)
	}
	var watchers []func(history.Record)
	if o.Watch != nil {
		watchers = append(watchers, o.Watch)
	}
	s.History = history.NewWriter(file, watchers...)
	s.OnStop("history", func(context.Context) error { return errors.Join(s.History.Flush(), file.Close()) })
	return s, nil
}

// HistoryPath returns the path of the history.
func (s *Stage) HistoryPath() string { return filepath.Join(s.Dir, HistoryFile) }

// OnStop adds a function that Stop calls to end something.
func (s *Stage) OnStop(name string, end func(ctx context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, step{name, end})
}

// Forget lets Stop remove the directory, unless the caller chose it. Callers use it if the run
// needs no further inspection.
func (s *Stage) Forget() { s.forget = true }

// Stop stops everything that was started, in reverse order, and kills the remaining processes.
// After an error, Stop continues with the rest. Stop may be called again.
func (s *Stage) Stop(ctx context.Context) error {
	var failed []error
	s.mu.Lock()
	steps := s.steps
	s.steps = nil
	s.mu.Unlock()
	for _, step := range slices.Backward(steps) {
		if err := step.end(ctx); err != nil {
			failed = append(failed, fmt.Errorf("stop %s: %w", step.name, err))
		}
	}
	err := errors.Join(failed...)
	if s.own && s.forget && err == nil {
		err = os.RemoveAll(s.Dir)
	}
	return err
}

// Receive starts the receivers of effects.
func (s *Stage) Receive(ctx context.Context, o receivers.Options) (*receivers.Receivers, error) {
	o.History = s.History
	r := receivers.New(o)
	if err := r.Start(ctx); err != nil {
		return nil, err
	}
	s.OnStop("receivers", func(context.Context) error { r.Stop(); return nil })
	return r, nil
}

// Phase records that the run enters another phase.
func (s *Stage) Phase(p history.Phase) {
	s.History.Add(history.Record{Who: s.opts.Who, Kind: history.Note, Op: history.OpPhase, Phase: p})
	s.Sayf("%s", p)
}

// Sayf prints a progress message.
func (s *Stage) Sayf(format string, args ...any) {
	if s.opts.Out != nil {
		_, _ = fmt.Fprintf(s.opts.Out, format+"\n", args...) // a lost message has no consequence
	}
}

// Judge adds the rows of the database to the history and checks the history.
func (s *Stage) Judge(ctx context.Context, pool *pgxpool.Pool, o checker.Options) (checker.Verdict, error) {
	if err := errors.Join(checker.Snapshot(ctx, pool, schema.Default, s.History), s.History.Flush()); err != nil {
		return checker.Verdict{}, err
	}
	file, err := os.Open(s.HistoryPath())
	if err != nil {
		return checker.Verdict{}, fmt.Errorf("read the history: %w", err)
	}
	defer file.Close()
	return checker.Check(file, o)
}

// Describe completes the description of a run in its history: the policy of each destination,
// and the destinations that apply each key once.
func Describe(run history.Run, destinations []scenario.Destination) *history.Run {
	run.Policies = map[string]string{}
	for _, d := range destinations {
		run.Policies[d.Name] = string(d.Policy)
		if d.Kind == "http" {
			run.Honour = append(run.Honour, d.Name)
		}
	}
	return &run
}
