// Package planted tests the checker. It plants each bug into real processes, drives them
// along a directed schedule, and verifies that the checker finds the bug. Without a bug, the
// checker must find nothing.
package planted

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/.tools/mutants/mutant"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/stage"
)

// scheduleTimeout bounds one run on a busy machine.
const scheduleTimeout = 5 * time.Minute

// template is the name of the database that each run copies.
const template = "planted_template"

// Options configure a Hunt.
type Options struct {
	// Hooklatch and Hookstorm are the binaries that Build builds. Required.
	Hooklatch, Hookstorm string
	// Dir receives histories, configurations and logs. Required.
	Dir string
}

// Build builds hooklatch and hookstorm of the repository at root into dir, with all bugs. The
// environment of a process selects one bug. The files in root stay unchanged.
func Build(ctx context.Context, root, dir string) (Options, error) {
	opts := Options{Dir: dir}
	overlay, err := plant(root, dir)
	if err != nil {
		return Options{}, fmt.Errorf("plant the bugs: %w", err)
	}
	for _, b := range []struct {
		into *string
		name string
	}{{&opts.Hooklatch, "hooklatch"}, {&opts.Hookstorm, "hookstorm"}} {
		path, err := programs.Build(ctx, programs.BuildOptions{
			Dir: root, Out: filepath.Join(dir, b.name), Package: "cmd/" + b.name, Tags: []string{"failpoint"}, Overlay: overlay,
		})
		if err != nil {
			return Options{}, err
		}
		*b.into = path
	}
	return opts, nil
}

// plant writes the files with the bugs, and returns the overlay that lists them.
func plant(root, dir string) (overlay string, err error) {
	root, err = filepath.Abs(root)
	if err != nil {
		return "", err
	}
	changed, err := mutant.Planted(root, bugs.Mutants())
	if err != nil {
		return "", err
	}
	files := filepath.Join(dir, "overlay")
	if err := os.MkdirAll(files, 0o700); err != nil {
		return "", err
	}
	return mutant.WriteOverlay(root, files, changed)
}

// Hunt runs schedules, each on a separate database. After Start, it is safe for concurrent use.
type Hunt struct {
	opts   Options
	server *cluster.Cluster
	runs   atomic.Int64

	cloning sync.Mutex // held while a run copies the template
}

// New creates a Hunt without starting it. It returns an error if an option is missing.
func New(opts Options) (*Hunt, error) {
	if opts.Hooklatch == "" || opts.Hookstorm == "" || opts.Dir == "" {
		return nil, errors.New("hunt options: Hooklatch, Hookstorm and Dir are required")
	}
	return &Hunt{opts: opts}, nil
}

// Start starts the Postgres that the runs share.
func (h *Hunt) Start(ctx context.Context) error {
	server, err := startServer(ctx, map[string]string{"max_connections": "500"})
	if err != nil {
		return fmt.Errorf("start hunt: %w", err)
	}
	h.server = server
	return nil
}

// Stop stops the Postgres server. Stop may be called more than once, and before Start.
func (h *Hunt) Stop(ctx context.Context) error {
	if h.server == nil {
		return nil
	}
	return h.server.Stop(ctx)
}

// Found is the result of a run.
type Found struct {
	Case    Case
	Bug     bugs.Bug // the planted bug; empty for none
	Verdict checker.Verdict
	Took    time.Duration
	History string // path of the history
}

// Message returns the checker's message about the bug, or "" if none of the case's rules
// found it.
func (f Found) Message() string {
	for _, v := range f.Verdict.Violations {
		if slices.Contains(f.Case.Rules, v.Rule) {
			return string(v.Rule) + ": " + v.Text
		}
	}
	return ""
}

// Run drives the schedule of c once, and checks the history. If the parameter bug is empty, no bug
// is active.
func (h *Hunt) Run(ctx context.Context, c Case, bug bugs.Bug) (Found, error) {
	ctx, cancel := context.WithTimeout(ctx, scheduleTimeout)
	defer cancel()
	planted := string(bug)
	if bug == "" {
		planted = "honest"
	}
	name := fmt.Sprintf("%s-%s-%d", c.Bug, planted, h.runs.Add(1))
	began := time.Now()
	s, err := h.newScene(ctx, c, bug, filepath.Join(h.opts.Dir, name))
	if err != nil {
		return Found{}, fmt.Errorf("prepare %s: %w", name, err)
	}
	err = c.run(ctx, s)
	if err == nil {
		err = s.quiet(ctx)
	}
	verdict, checkErr := s.verdict(ctx)
	if err := errors.Join(err, checkErr); err != nil {
		return Found{}, fmt.Errorf("%s: %w", name, err)
	}
	return Found{Case: c, Bug: bug, Verdict: verdict, Took: time.Since(began), History: s.HistoryPath()}, nil
}

// startServer starts a Postgres whose template has Hooklatch's tables and the tables of runs.
func startServer(ctx context.Context, settings map[string]string) (*cluster.Cluster, error) {
	server, err := cluster.Start(ctx, cluster.Options{Settings: settings})
	if err != nil {
		return nil, err
	}
	err = stage.Execute(ctx, server.Primary("postgres"), "CREATE DATABASE "+template)
	if err == nil {
		err = prepare(ctx, server.Primary(template))
	}
	if err != nil {
		return nil, errors.Join(err, server.Stop(context.WithoutCancel(ctx)))
	}
	return server, nil
}

func prepare(ctx context.Context, url string) error {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer pool.Close()
	return stage.Prepare(ctx, pool)
}

// database creates a database for one run and returns its URL.
func (h *Hunt) database(ctx context.Context, server *cluster.Cluster) (string, error) {
	h.cloning.Lock()
	defer h.cloning.Unlock()
	name := "run_" + strconv.FormatInt(h.runs.Add(1), 10)
	if err := stage.Execute(ctx, server.Primary("postgres"), "CREATE DATABASE "+name+" TEMPLATE "+template); err != nil {
		return "", err
	}
	return server.Primary(name), nil
}
