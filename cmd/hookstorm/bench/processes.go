package bench

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/contender"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// readyTimeout bounds the start of a process, on a busy machine.
const readyTimeout = 2 * time.Minute

// binaries are what the processes are started from.
type binaries struct {
	hooklatch string
	previous  string // of another commit
	hookstorm string // the servers that Hooklatch is measured against
}

// build builds them from the tree.
func (b *bench) build(ctx context.Context) (err error) {
	if b.report.Commit, err = programs.Commit(ctx, b.opts.Module); err != nil {
		b.report.Commit = "unknown" // an archive has no history
	}
	if b.binaries.hooklatch, err = programs.Build(ctx, programs.BuildOptions{Dir: b.opts.Module, Out: filepath.Join(b.dir, "hooklatch")}); err != nil {
		return err
	}
	if b.binaries.hookstorm = b.opts.Self; b.opts.Self != "" {
		return nil
	}
	b.binaries.hookstorm, err = programs.Build(ctx, programs.BuildOptions{
		Dir: b.opts.Module, Out: filepath.Join(b.dir, "hookstorm"), Package: "cmd/hookstorm",
	})
	return err
}

// process is one that is measured.
type process struct {
	*programs.Program

	role   string
	events string // address that takes events; empty for a worker
	admin  string // URL of its admin listener; empty for a server that is no Hooklatch
}

// Roles of processes.
const (
	roleServer  = "server" // that takes events, whichever it is
	roleGateway = "gateway"
	roleWorker  = "worker"
)

// launch starts a process and waits until it can do its work.
func (b *bench) launch(ctx context.Context, p *process, o programs.Options) (*process, error) {
	b.started++
	o.Name, o.History = fmt.Sprintf("%s-%d", p.role, b.started), b.history
	var err error
	if p.Program, err = programs.New(o); err != nil {
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

// launchContender starts a server that Hooklatch is measured against. Without a
// database it is the limit.
func (b *bench) launchContender(ctx context.Context, who subject, databaseURL string) (*process, error) {
	free, err := freeport.Addresses(1)
	if err != nil {
		return nil, err
	}
	return b.launch(ctx, &process{role: roleServer, events: free[0]}, programs.Options{
		Binary: b.binaries.hookstorm, Args: []string{"bench", "server", "--listen", free[0], "--conns", strconv.Itoa(cmp.Or(who.conns, contender.DefaultConns))},
		Env: []string{contender.DatabaseEnv + "=" + databaseURL}, ReadyURL: "http://" + free[0] + "/readyz",
	})
}

//go:embed hooklatch.yaml.tmpl
var configurationText string

// configuration is what the file of a process says.
type configuration struct {
	DatabaseURL   secret.Value
	GatewayListen string
	AdminListen   string
	ReceiverURL   string
	Source        string
	Provider      string
	Secret        secret.Value
	Second        string // see subject
	OrderBy       string
	List          string
	Previous      bool // it does not know what can be configured since
}

// configure writes the file of a process.
func (b *bench) configure(who subject, databaseURL, gateway, admin string) (path string, err error) {
	text, err := template.New("hooklatch.yaml").Parse(configurationText)
	if err != nil {
		return "", fmt.Errorf("parse the template of the configuration: %w", err)
	}
	var file strings.Builder
	if err := text.Execute(&file, configuration{
		DatabaseURL: secret.New(databaseURL), GatewayListen: gateway, AdminListen: admin, ReceiverURL: "http://" + b.receiver.address + "/app",
		Source: load.Source, Provider: load.Provider, Secret: load.Secret(), Second: who.second, OrderBy: who.orderBy, List: who.list, Previous: who.previous,
	}); err != nil {
		return "", fmt.Errorf("write the configuration: %w", err)
	}
	b.configured++
	path = filepath.Join(b.dir, fmt.Sprintf("hooklatch-%d.yaml", b.configured))
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		return "", fmt.Errorf("write the configuration: %w", err)
	}
	return path, nil
}

// binaryOf is the program of a subject.
func (b *bench) binaryOf(who subject) string {
	if who.previous {
		return b.binaries.previous
	}
	return b.binaries.hooklatch
}

// launchHooklatch starts the real program as gateway or worker.
func (b *bench) launchHooklatch(ctx context.Context, who subject, role, databaseURL string) (*process, error) {
	free, err := freeport.Addresses(2)
	if err != nil {
		return nil, err
	}
	path, err := b.configure(who, databaseURL, free[0], free[1])
	if err != nil {
		return nil, err
	}
	return b.launch(ctx, &process{role: role, events: free[0], admin: "http://" + free[1]}, programs.Options{
		Binary: b.binaryOf(who), Args: []string{role, "--config", path}, ReadyURL: "http://" + free[1] + "/readyz",
	})
}

// command runs a command of the program to its end, and returns the CPU time it used.
func (b *bench) command(ctx context.Context, who subject, databaseURL string, args ...string) (time.Duration, error) {
	path, err := b.configure(who, databaseURL, "127.0.0.1:8080", "127.0.0.1:8081") // nobody listens
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, b.binaryOf(who), append(args, "--config", path)...)
	cmd.Env = programs.Environment()
	if printed, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("hooklatch %s: %w\n%s", strings.Join(args, " "), err, printed)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// buildPrevious builds the commit that this tree is measured beside.
func (b *bench) buildPrevious(ctx context.Context) (err error) {
	dir, remove, err := programs.Worktree(ctx, b.opts.Module, b.opts.Previous)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if b.report.Previous, err = programs.Commit(ctx, dir); err != nil {
		return err
	}
	b.binaries.previous, err = programs.Build(ctx, programs.BuildOptions{Dir: dir, Out: filepath.Join(b.dir, "hooklatch.previous")})
	return err
}
