package planted

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/.tools/mutants/mutant"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/internal/redisserver"
)

// process is a process of Hooklatch or of the application.
type process struct {
	*programs.Program

	gateway string // URL of the gateway
	config  string
	passed  string // file with the failpoints passed, at most 20 entries for each
	fired   string // file with the failpoints that fired
}

// launch starts a process on a database. The parameter command is a command of hooklatch, or app
// for the program with handlers.
func (s *scene) launch(ctx context.Context, url, command string, rules ...string) (*process, error) {
	s.launched++
	place, err := s.Place(fmt.Sprintf("%s-%d", command, s.launched))
	if err != nil {
		return nil, err
	}
	settings := place.Settings(url, s.receivers)
	settings.Deployment = s.deployed
	settings.Mine.Gateway = map[string]any{"accept_timeout": acceptTimeout.String()}
	if s.redis != "" {
		settings.Mine.Gateway["seen_cache"] = map[string]any{"redis": s.redis}
	}
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
	s.processes[place.Name], s.processes[command] = p, p
	err = p.Start(ctx, "HOOKLATCH_FAILPOINTS="+strings.Join(rules, ","))
	return p, err
}

// start returns a step that starts a process and waits until the process is ready.
func start(command string, rules ...string) step {
	return func(ctx context.Context, s *scene) error {
		p, err := s.launch(ctx, s.url, command, rules...)
		if err != nil {
			return err
		}
		return p.Ready(ctx)
	}
}

// startElsewhere is like start, but the process runs on a new database of the same server.
func startElsewhere(command string) step {
	return func(ctx context.Context, s *scene) error {
		url, err := s.hunt.database(ctx, s.server)
		if err != nil {
			return err
		}
		p, err := s.launch(ctx, url, command)
		if err != nil {
			return err
		}
		return p.Ready(ctx)
	}
}

// shareRedis starts a Redis that the gateways of later steps share.
func shareRedis(ctx context.Context, s *scene) error {
	server, err := redisserver.Start(ctx)
	if err != nil {
		return err
	}
	s.OnStop("Redis", func(context.Context) error { return server.Stop() })
	s.redis = server.URL()
	return nil
}

// startToStop returns a step that starts a process and waits until a failpoint suspends it, which
// may happen before the process is ready.
func startToStop(command, place string) step {
	return func(ctx context.Context, s *scene) error {
		if _, err := s.launch(ctx, s.url, command, place+"=stop@1"); err != nil {
			return err
		}
		return fires(command, place)(ctx, s)
	}
}

// startBehindProxy is like start, but the process connects to Postgres through a new proxy. The
// proxy's listener has the command's name.
func startBehindProxy(command string) step {
	return func(ctx context.Context, s *scene) (err error) {
		if s.proxy, err = s.Proxy(s.server.Address(), func() string { return s.url }); err != nil {
			return err
		}
		url, err := s.proxy.URL(command)
		if err != nil {
			return err
		}
		p, err := s.launch(ctx, url, command)
		if err != nil {
			return err
		}
		return p.Ready(ctx)
	}
}

// deploy returns a step that starts a worker of the next deployment in addition to the running
// processes. The step waits until the worker's configuration is certainly the newest.
func deploy(next scenario.Deployment) step {
	return func(ctx context.Context, s *scene) error {
		s.deployed = next
		deployed := s.History.Begin(history.Record{Who: "planted", Op: history.OpDeploy, Deploy: &history.Deploy{
			Number: next.Number, Source: scenario.Moving, Route: next.Route(), Types: next.Types, Late: next.Late,
		}})
		if err := start("worker")(ctx, s); err != nil {
			return err
		}
		deployed.End(history.OK, "", nil)
		var now time.Time
		if err := s.pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now); err != nil {
			return err
		}
		return sees("no clock can be so far behind", `SELECT WHERE clock_timestamp() > $1`, now.Add(time.Second))(ctx, s)
	}
}

// Each of the following steps names a process by its command and its number among all processes
// started so far, as in worker-2. The command alone names the last process with that command.

func kill(name string) step {
	return func(_ context.Context, s *scene) error { return s.processes[name].Kill() }
}

func pauseProcess(name string) step {
	return func(_ context.Context, s *scene) error { return s.processes[name].Pause() }
}

func resumeProcess(name string) step {
	return func(_ context.Context, s *scene) error { return s.processes[name].Continue() }
}
