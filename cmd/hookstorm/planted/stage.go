package planted

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/.tools/mutants/mutant"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/pgproxy"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/receivers"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/embedded"
)

// slow is how long a slow receiver takes: below the time-out of destinations, 1 s.
const slow = 700 * time.Millisecond

// stage is what a schedule plays on: a database, the processes on it, and those
// they call.
type stage struct {
	hunt      *Hunt
	bug       bugs.Bug
	dir       string
	path      string // of the history
	file      *os.File
	history   *history.Writer
	receivers *receivers.Receivers
	server    *embedded.Server
	own       bool // the server is of this run only
	url       string
	pool      *pgxpool.Pool
	proxy     *pgproxy.Proxy // nil until somebody wants it
	processes []*process
	deployed  scenario.Deployment // what the next process is configured with

	mu    sync.Mutex
	calls []history.Record // of receivers, as they began and ended
}

func (h *Hunt) newStage(ctx context.Context, c Case, bug bugs.Bug, dir string) (_ *stage, err error) {
	s := &stage{hunt: h, bug: bug, dir: dir, path: filepath.Join(dir, "history.jsonl"), server: h.server}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(ctx))
		}
	}()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make directory: %w", err)
	}
	if s.file, err = os.Create(s.path); err != nil {
		return nil, fmt.Errorf("make history: %w", err)
	}
	s.history = history.NewWriter(s.file, s.watch)
	run := history.Run{Command: "hookstorm torture --planted " + string(c.Bug), Settings: "planted: " + string(bug)}
	s.history.Add(history.Record{Who: "planted", Kind: history.Note, Op: history.OpRun, Text: c.Schedule, Run: &run})
	if c.settings != nil {
		if s.server, err = startServer(ctx, c.settings); err != nil {
			return nil, err
		}
		s.own = true
	}
	if s.url, err = h.database(ctx, s.server); err != nil {
		return nil, err
	}
	if s.pool, err = pgxpool.New(ctx, s.url); err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	s.receivers = receivers.New(receivers.Options{History: s.history, Slow: slow})
	return s, s.receivers.Start(ctx)
}

// watch keeps what receivers saw.
func (s *stage) watch(r history.Record) {
	if r.Op != history.OpCall {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, r)
}

// called counts the calls of a destination that began, or ended.
func (s *stage) called(destination string, ended bool) int {
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

	command string
	gateway string // its URL
	config  string
	passed  string // file with the failpoints that were passed, 20 times each at most
	fired   string // file with those that did something
}

// failpoints are those of a process for one start.
func failpoints(rules ...string) string { return "HOOKLATCH_FAILPOINTS=" + strings.Join(rules, ",") }

// start starts a process and waits until it is ready. command is one of hooklatch,
// or app, the program with handlers.
func (s *stage) start(ctx context.Context, command string, rules ...string) (*process, error) {
	p, err := s.launch(ctx, s.url, command, rules...)
	if err != nil {
		return nil, err
	}
	err = p.await(ctx)
	return p, err
}

// deploy starts a worker of the next deployment beside those that run, and waits until its
// configuration is certainly the newest.
func (s *stage) deploy(ctx context.Context, next scenario.Deployment) (*process, error) {
	s.deployed = next
	deployed := s.history.Begin(history.Record{Who: "planted", Op: history.OpDeploy, Deploy: &history.Deploy{
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
func (s *stage) startToStop(ctx context.Context, command, place string) (*process, error) {
	p, err := s.launch(ctx, s.url, command, place+"=stop@1")
	if err != nil {
		return nil, err
	}
	return p, s.fires(ctx, p, place)
}

// await waits until the process can do its work.
func (p *process) await(ctx context.Context) error { return p.Ready(ctx) }

// startBehindProxy is start for a process whose connections pass the proxy, as a
// listener of the name of the command.
func (s *stage) startBehindProxy(ctx context.Context, command string) (*process, error) {
	address, err := addressOf(s.url)
	if err != nil {
		return nil, err
	}
	if s.proxy, err = pgproxy.Start(pgproxy.Options{Target: address}); err != nil {
		return nil, err
	}
	listener, err := s.proxy.Listener(command)
	if err != nil {
		return nil, err
	}
	url, err := listener.URL(s.url)
	if err != nil {
		return nil, err
	}
	p, err := s.launch(ctx, url, command)
	if err != nil {
		return nil, err
	}
	err = p.await(ctx)
	return p, err
}

// launch starts a process on a database.
func (s *stage) launch(ctx context.Context, url, command string, rules ...string) (*process, error) {
	free, err := freeport.Addresses(2)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s-%d", command, len(s.processes)+1)
	mail := s.receivers.MailAddr()
	config, err := programs.NewConfiguration(filepath.Join(s.dir, name+".yaml"), scenario.Settings{
		DatabaseURL: secret.New(url), GatewayListen: free[0], AdminListen: free[1],
		ReceiverURL: s.receivers.URL(), MailHost: mail.Addr().String(), MailPort: int(mail.Port()),
		Deployment: s.deployed,
	})
	if err != nil {
		return nil, err
	}
	p := &process{command: command, gateway: "http://" + free[0], config: config.Path(), passed: filepath.Join(s.dir, name+".passed"), fired: filepath.Join(s.dir, name+".fired")}
	binary := s.hunt.opts.Hooklatch
	if command == "app" {
		binary = s.hunt.opts.Hookstorm
	}
	p.Program, err = programs.New(programs.Options{
		Name: name, Build: "planted: " + string(s.bug), Binary: binary, Args: []string{command, "--config", p.config},
		Env: []string{mutant.Environment + "=" + string(s.bug), "HOOKLATCH_FAILPOINT_FIRED=" + p.fired, "HOOKLATCH_FAILPOINT_TRACE=" + p.passed},
		Log: filepath.Join(s.dir, name+".log"), ReadyURL: "http://" + free[1] + "/readyz", History: s.history,
	})
	if err != nil {
		return nil, err
	}
	s.processes = append(s.processes, p)
	if err := p.Start(ctx, failpoints(rules...)); err != nil {
		return nil, err
	}
	return p, nil
}

// verdict ends the run and judges it.
func (s *stage) verdict(ctx context.Context) (checker.Verdict, error) {
	err := checker.Snapshot(ctx, s.pool, schema.Default, s.history)
	err = errors.Join(err, s.close(ctx), s.history.Flush())
	if err != nil {
		return checker.Verdict{}, err
	}
	file, err := os.Open(s.path)
	if err != nil {
		return checker.Verdict{}, fmt.Errorf("read history: %w", err)
	}
	defer file.Close()
	return checker.Check(file, checker.Options{MinAcked: 1})
}

// close ends everything that was started.
func (s *stage) close(ctx context.Context) error {
	var errs []error
	for _, p := range s.processes {
		errs = append(errs, p.Kill())
	}
	if s.receivers != nil {
		s.receivers.Stop()
	}
	if s.proxy != nil {
		s.proxy.Stop()
	}
	if s.pool != nil {
		s.pool.Close()
	}
	if s.own {
		errs = append(errs, s.server.Stop(context.WithoutCancel(ctx)))
	}
	if s.history != nil {
		errs = append(errs, s.history.Flush())
	}
	if s.file != nil {
		errs = append(errs, s.file.Close())
	}
	return errors.Join(errs...)
}
