package bench

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/contender"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/stage"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// readyTimeout bounds the start of a process on a busy machine.
const readyTimeout = 2 * time.Minute

// binaries lists the programs from which the processes are started.
type binaries struct {
	hooklatch string
	previous  string // hooklatch of another commit
	hookstorm string // contains the servers against which Hooklatch is measured
	river     string // the River program
}

// build builds the programs from the tree.
func (b *bench) build(ctx context.Context) (err error) {
	if b.report.Commit, err = programs.Commit(ctx, b.opts.Module); err != nil {
		b.report.Commit = "unknown" // an archive has no repository
	}
	if b.binaries.hooklatch, err = programs.Build(ctx, programs.BuildOptions{Dir: b.opts.Module, Out: filepath.Join(b.stage.Dir, "hooklatch")}); err != nil {
		return err
	}
	if b.binaries.hookstorm = b.opts.Self; b.opts.Self != "" {
		return nil
	}
	b.binaries.hookstorm, err = programs.Build(ctx, programs.BuildOptions{
		Dir: b.opts.Module, Out: filepath.Join(b.stage.Dir, "hookstorm"), Package: "cmd/hookstorm",
	})
	return err
}

// process is a running program of a subject.
type process struct {
	*programs.Program

	role   string
	events string // address that accepts events; a worker does not listen there
}

// Roles of processes.
const (
	roleServer  = "server" // the server of the subjects limit and naive
	roleGateway = "gateway"
	roleWorker  = "worker"
	roleServe   = "serve" // gateway and worker in one process
	roleRiver   = "river" // the River program
)

// launch starts a process of a subject and waits until the process is ready. With an empty
// databaseURL, a roleServer only verifies and answers.
func (b *bench) launch(ctx context.Context, who subject, role, databaseURL string) (*process, error) {
	place, err := b.place(role)
	if err != nil {
		return nil, err
	}
	var o programs.Options
	switch role {
	case roleServer:
		o = programs.Options{
			Binary: b.binaries.hookstorm, Args: []string{"bench", "server", "--listen", place.Gateway},
			Env: []string{contender.DatabaseEnv + "=" + databaseURL}, ReadyURL: "http://" + place.Gateway + "/readyz",
		}
	case roleRiver:
		o = programs.Options{
			Binary: b.binaries.river, Args: []string{"-listen", place.Gateway, "-accept-only=" + strconv.FormatBool(who.acceptOnly)},
			Env:      []string{"DATABASE_URL=" + databaseURL, "WEBHOOK_SECRET=" + load.Secret().Reveal(), "RECEIVER_URL=" + b.receiverURL()},
			ReadyURL: "http://" + place.Gateway + "/readyz",
		}
	default:
		o = programs.Options{Binary: b.binaryOf(who), Args: []string{role, "--config", place.Config}, ReadyURL: place.Ready()}
		if err := b.configure(place, who, databaseURL); err != nil {
			return nil, err
		}
	}
	p := &process{role: role, events: place.Gateway}
	if p.Program, err = place.Program(o); err != nil {
		return nil, err
	}
	if err := p.Start(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := p.Ready(ctx); err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	return p, nil
}

// place prepares the directory of the next process.
func (b *bench) place(role string) (*stage.Place, error) {
	b.started++
	return b.stage.Place(fmt.Sprintf("%s-%d", role, b.started))
}

//go:embed hooklatch.yaml.tmpl
var configurationText string

// configuration is the content of a process's configuration file.
type configuration struct {
	scenario.Settings

	Source, Provider string
	Secret           secret.Value
	Second           string // see subject
	OrderBy          string
	List             string
	When             string
	Redis            string // URL of the Redis that gateways share, if any
}

// configure writes the configuration file of a process.
func (b *bench) configure(at *stage.Place, who subject, databaseURL string) error {
	return at.Write(configurationText, configuration{
		Settings: scenario.Settings{
			DatabaseURL: secret.New(databaseURL), GatewayListen: at.Gateway, AdminListen: at.Admin, ReceiverURL: b.receiverURL(),
			Previous: who.previous,
		},
		Source: load.Source, Provider: load.Provider, Secret: load.Secret(), Second: who.second, OrderBy: who.orderBy, List: who.list, When: who.when, Redis: who.redis,
	})
}

// receiverURL returns the URL that gets every delivery.
func (b *bench) receiverURL() string { return "http://" + b.receiver.address + "/app" }

// binaryOf returns the build of hooklatch that a subject runs.
func (b *bench) binaryOf(who subject) string {
	if who.previous {
		return b.binaries.previous
	}
	return b.binaries.hooklatch
}

// command runs a command of the subject's program and returns the CPU time that the command used.
func (b *bench) command(ctx context.Context, who subject, databaseURL string, args ...string) (time.Duration, error) {
	place, err := b.place("command")
	if err != nil {
		return 0, err
	}
	if err := b.configure(place, who, databaseURL); err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, b.binaryOf(who), append(args, "--config", place.Config)...)
	cmd.Env = programs.Environment()
	if printed, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("hooklatch %s: %w\n%s", strings.Join(args, " "), err, printed)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// buildPrevious builds the commit against which this tree is measured, unless it is built already.
func (b *bench) buildPrevious(ctx context.Context) (err error) {
	if b.binaries.previous != "" {
		return nil
	}
	dir, remove, err := programs.Worktree(ctx, b.opts.Module, b.opts.Previous)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if b.report.Previous, err = programs.Commit(ctx, dir); err != nil {
		return err
	}
	b.binaries.previous, err = programs.Build(ctx, programs.BuildOptions{Dir: dir, Out: filepath.Join(b.stage.Dir, "hooklatch.previous")})
	return err
}

// buildRiver builds the River program, unless it is built already.
func (b *bench) buildRiver(ctx context.Context) (err error) {
	if b.binaries.river == "" {
		b.binaries.river, err = programs.Build(ctx, programs.BuildOptions{
			Dir: b.opts.Module, Out: filepath.Join(b.stage.Dir, "riverprogram"), Package: "cmd/hookstorm/bench/riverprogram",
		})
	}
	return err
}
