package planted

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/.tools/mutants/mutant"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/receivers"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/stage"
)

// slow is how long a slow receiver takes: below the time-out of destinations, 1 s.
const slow = 700 * time.Millisecond

// scene is what a schedule plays on: a database, the processes on it, and those
// they call.
type scene struct {
	*stage.Stage

	hunt      *Hunt
	bug       bugs.Bug
	receivers *receivers.Receivers
	server    *cluster.Cluster
	url       string
	pool      *pgxpool.Pool
	proxy     *stage.Line         // nil until somebody wants it
	launched  int                 // processes
	deployed  scenario.Deployment // what the next process is configured with

	mu    sync.Mutex
	calls []history.Record // of receivers, as they began and ended
}

func (h *Hunt) newScene(ctx context.Context, c Case, bug bugs.Bug, dir string) (_ *scene, err error) {
	s := &scene{hunt: h, bug: bug, server: h.server}
	if s.Stage, err = stage.New(stage.Options{Who: "planted", Dir: dir, Watch: s.watch}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
		}
	}()
	run := history.Run{Command: "hookstorm torture --planted " + string(c.Bug), Settings: "planted: " + string(bug)}
	s.History.Add(history.Record{Who: "planted", Kind: history.Note, Op: history.OpRun, Text: c.Schedule, Run: &run})
	if c.settings != nil {
		if s.server, err = startServer(ctx, c.settings); err != nil {
			return nil, err
		}
		s.OnStop("Postgres", s.server.Stop)
	}
	if s.url, err = h.database(ctx, s.server); err != nil {
		return nil, err
	}
	config, err := stage.Config(s.url)
	if err != nil {
		return nil, err
	}
	if s.pool, err = s.Connect(ctx, config); err != nil {
		return nil, err
	}
	s.receivers, err = s.Receive(ctx, receivers.Options{Slow: slow})
	return s, err
}

// watch keeps what receivers saw.
func (s *scene) watch(r history.Record) {
	if r.Op != history.OpCall {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, r)
}

// called counts the calls of a destination that began, or ended.
func (s *scene) called(destination string, ended bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.calls {
		if r.Call.Destination == destination && (r.Kind != history.Invoke) == ended {
			n++
		}
	}
	return n
}

// process is one of ours.
type process struct {
	*programs.Program

	gateway string // its URL
	config  string
	passed  string // file with the failpoints that were passed, 20 times each at most
	fired   string // file with those that did something
}

// start starts a process and waits until it is ready. command is one of hooklatch,
// or app, the program with handlers.
func (s *scene) start(ctx context.Context, command string, rules ...string) (*process, error) {
	p, err := s.launch(ctx, s.url, command, rules...)
	if err != nil {
		return nil, err
	}
	return p, p.Ready(ctx)
}

// deploy starts a worker of the next deployment beside those that run, and waits until its
// configuration is certainly the newest.
func (s *scene) deploy(ctx context.Context, next scenario.Deployment) (*process, error) {
	s.deployed = next
	deployed := s.History.Begin(history.Record{Who: "planted", Op: history.OpDeploy, Deploy: &history.Deploy{
		Number: next.Number, Source: scenario.Moving, Route: next.Route(), Types: next.Types, Late: next.Late,
	}})
	p, err := s.start(ctx, "worker")
	if err != nil {
		return nil, err
	}
	deployed.End(history.OK, "", nil)
	var now time.Time
	if err := s.pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now); err != nil {
		return nil, err
	}
	return p, s.sees(ctx, "no clock can be so far behind", `SELECT WHERE clock_timestamp() > $1`, now.Add(time.Second))
}

// startToStop starts a process that stops itself at a place, perhaps before it is
// ready.
func (s *scene) startToStop(ctx context.Context, command, place string) (*process, error) {
	p, err := s.launch(ctx, s.url, command, place+"=stop@1")
	if err != nil {
		return nil, err
	}
	return p, s.fires(ctx, p, place)
}

// startBehindProxy is start for a process whose connections pass the proxy, as a
// listener of the name of the command.
func (s *scene) startBehindProxy(ctx context.Context, command string) (*process, error) {
	var err error
	if s.proxy, err = s.Proxy(s.server.Address(), func() string { return s.url }); err != nil {
		return nil, err
	}
	url, err := s.proxy.URL(command)
	if err != nil {
		return nil, err
	}
	p, err := s.launch(ctx, url, command)
	if err != nil {
		return nil, err
	}
	return p, p.Ready(ctx)
}

// launch starts a process on a database.
func (s *scene) launch(ctx context.Context, url, command string, rules ...string) (*process, error) {
	s.launched++
	place, err := s.Place(fmt.Sprintf("%s-%d", command, s.launched))
	if err != nil {
		return nil, err
	}
	settings := place.Settings(url, s.receivers)
	settings.Deployment = s.deployed
	if _, err := programs.NewConfiguration(place.Config, settings); err != nil {
		return nil, err
	}
	file := filepath.Join(s.Dir, place.Name)
	p := &process{gateway: "http://" + place.Gateway, config: place.Config, passed: file + ".passed", fired: file + ".fired"}
	binary := s.hunt.opts.Hooklatch
	if command == "app" {
		binary = s.hunt.opts.Hookstorm
	}
	p.Program, err = place.Program(programs.Options{
		Build: "planted: " + string(s.bug), Binary: binary, Args: []string{command, "--config", p.config}, ReadyURL: place.Ready(),
		Env: []string{mutant.Environment + "=" + string(s.bug), "HOOKLATCH_FAILPOINT_FIRED=" + p.fired, "HOOKLATCH_FAILPOINT_TRACE=" + p.passed},
	})
	if err != nil {
		return nil, err
	}
	return p, p.Start(ctx, "HOOKLATCH_FAILPOINTS="+strings.Join(rules, ","))
}

// verdict ends the run and judges it.
func (s *scene) verdict(ctx context.Context) (checker.Verdict, error) {
	killed := s.Kill()
	s.receivers.Stop() // all calls have their ends
	verdict, err := s.Judge(ctx, s.pool, checker.Options{MinAcked: 1})
	return verdict, errors.Join(killed, err, s.Stop(context.WithoutCancel(ctx)))
}
