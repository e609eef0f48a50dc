package application

import (
	"context"
	"log/slog"
	"os"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/worker"
)

// Options configure Run.
type Options struct {
	// Config is the scenario's configuration file. It gives the user's program the same routes and
	// destinations as the other workers. The admin listener in the file reports readiness.
	// Required.
	Config string
	// Reloads triggers a reload of the file with each value. If nil, the file is never reloaded.
	Reloads <-chan struct{}
	// Logger defaults to a logger that discards everything.
	Logger *slog.Logger
}

// Run runs the user's program: a worker that also handles the events of sources with handlers. The
// worker drains when ctx is done.
func Run(ctx context.Context, opts Options) error {
	load := func() (*config.Config, error) {
		cfg, err := config.Load(opts.Config, os.LookupEnv)
		if err != nil {
			return nil, err
		}
		return cfg, app.CheckConfig(cfg)
	}
	cfg, err := load()
	if err != nil {
		return err
	}
	return app.Run(ctx, app.Options{
		Config: cfg, Load: load, Worker: true, Version: "hookstorm app", Logger: opts.Logger, Handle: handleSources,
	}, opts.Reloads, nil)
}

// handleSources registers the handler for every source with handlers.
func handleSources(w *worker.Worker, box *outbox.Outbox) {
	h := &handler{box: box}
	for _, source := range scenario.Sources() {
		if source.Handlers {
			w.Handle(source.Name, "*", h.handle)
		}
	}
}
