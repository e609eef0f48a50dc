package bench

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/contender"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// readyTimeout bounds the start of a process, on a busy machine.
const readyTimeout = 2 * time.Minute

// binaries are what the processes are started from.
type binaries struct {
	hooklatch string
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
	b.binaries.hookstorm, err = programs.Build(ctx, programs.BuildOptions{
		Dir: b.opts.Module, Out: filepath.Join(b.dir, "hookstorm"), Package: "./cmd/hookstorm",
	})
	return err
}

// process is one that is measured.
type process struct {
	*programs.Program

	role   string
	events string // address that takes events; empty for a worker
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
func (b *bench) launchContender(ctx context.Context, databaseURL string) (*process, error) {
	free, err := programs.FreeAddresses(1)
	if err != nil {
		return nil, err
	}
	return b.launch(ctx, &process{role: roleServer, events: free[0]}, programs.Options{
		Binary: b.binaries.hookstorm, Args: []string{"bench", "server", "--listen", free[0]},
		Env: []string{contender.DatabaseEnv + "=" + databaseURL}, ReadyURL: "http://" + free[0] + "/readyz",
	})
}

//go:embed hooklatch.yaml.tmpl
var configurationText string

// orderedSource is an endpoint whose events have one order, all of them.
const orderedSource = "ordered"

// configuration is what the file of a process says.
type configuration struct {
	DatabaseURL   secret.Value
	GatewayListen string
	AdminListen   string
	ReceiverURL   string
	Source        string
	OrderedSource string
	Provider      string
	Secret        secret.Value
}

// launchHooklatch starts the real program as gateway or worker.
func (b *bench) launchHooklatch(ctx context.Context, role, databaseURL string) (*process, error) {
	free, err := programs.FreeAddresses(2)
	if err != nil {
		return nil, err
	}
	text, err := template.New("hooklatch.yaml").Parse(configurationText)
	if err != nil {
		return nil, fmt.Errorf("parse the template of the configuration: %w", err)
	}
	var file strings.Builder
	if err := text.Execute(&file, configuration{
		DatabaseURL: secret.New(databaseURL), GatewayListen: free[0], AdminListen: free[1], ReceiverURL: "http://" + b.receiver.address + "/app",
		Source: load.Source, OrderedSource: orderedSource, Provider: load.Provider, Secret: load.Secret(),
	}); err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	path := filepath.Join(b.dir, fmt.Sprintf("%s-%d.yaml", role, b.started+1))
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	return b.launch(ctx, &process{role: role, events: free[0]}, programs.Options{
		Binary: b.binaries.hooklatch, Args: []string{role, "--config", path}, ReadyURL: "http://" + free[1] + "/readyz",
	})
}
