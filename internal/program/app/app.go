package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/admin"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/logqueue"
	"github.com/hooklatch/hooklatch/internal/program/telemetry"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/worker"
)

// Maximum time of a stop in addition to worker.soft_stop, or to gateway.drain_timeout if no worker
// runs. Including the log flush, the process ends within 5 seconds after that.
const (
	stopSlack = 4 * time.Second
	// drainSlack is the part of stopSlack for deliveries and jobs. The rest is for commits.
	drainSlack = 2 * time.Second
)

// Maximum time of the other steps of a stop.
const (
	startTimeout     = 2 * time.Second
	outboxTimeout    = 15 * time.Second
	poolTimeout      = 2 * time.Second
	adminTimeout     = time.Second
	minutesTimeout   = time.Second
	gaugesTimeout    = time.Second
	telemetryTimeout = time.Second
)

// Options configure an App.
type Options struct {
	// Config is complete and checked. Required.
	Config *config.Config
	// DatabaseURL overrides database.url and database.direct_url, to which it defaults.
	DatabaseURL secret.Value
	// Gateway and Worker select the parts that run. At least one is required.
	Gateway, Worker bool
	// Migrate migrates the schema before any part uses it.
	Migrate bool
	// Handle registers Go handlers before the worker starts. If nil, there are no handlers.
	Handle func(w *worker.Worker, box *outbox.Outbox)
	// Load reads the configuration again, for Reload. If nil, no reload is possible.
	Load func() (*config.Config, error)

	// Version is the program version, for telemetry and the console.
	Version string
	// GatewayHint and AdminHint tell the user how to change an address that is in use. By default,
	// they name the configuration field.
	GatewayHint, AdminHint string
	// GlobalTelemetry uses this App's telemetry for the whole process.
	GlobalTelemetry bool
	// FilesEvery is the interval at which secret and certificate files are checked for changes,
	// which take effect immediately. Defaults to DefaultFilesEvery.
	FilesEvery time.Duration
	// StillFor is the time that the configuration file must be unchanged before a reload reads it.
	// Defaults to DefaultStillFor.
	StillFor time.Duration
	// LargeBody is called before memory is allocated for a large delivery body. It may be nil.
	LargeBody func()
	// Outputs are the queues of the process's output streams, for metrics and /readyz. Defaults
	// to a queue that is never used, so that the metrics exist.
	Outputs []*logqueue.Queue
	// Logger defaults to a logger that discards.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	o.GatewayHint = cmp.Or(o.GatewayHint, "set gateway.listen in the configuration")
	o.AdminHint = cmp.Or(o.AdminHint, "set admin.listen in the configuration")
	o.FilesEvery = cmp.Or(o.FilesEvery, DefaultFilesEvery)
	o.StillFor = cmp.Or(o.StillFor, DefaultStillFor)
	if o.DatabaseURL.IsZero() && o.Config != nil {
		o.DatabaseURL = o.Config.Database.URL
	} else if o.Config != nil {
		// Another database applies to all parts, including migrations.
		cfg := *o.Config
		cfg.Database.DirectURL = secret.Value{}
		o.Config = &cfg
	}
	if len(o.Outputs) == 0 {
		o.Outputs = []*logqueue.Queue{logqueue.New(logqueue.Options{Out: io.Discard, Name: "stderr"})}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.Config == nil:
		return errors.New("Config is required")
	case !o.Gateway && !o.Worker:
		return errors.New("at least one of Gateway and Worker is required")
	}
	return nil
}

// App is a gateway, a worker or both in one process, with the admin listener. It is used once:
// New, Start, Stop.
type App struct {
	opts         Options
	telemetry    *telemetry.Telemetry
	pools        pools
	migrator     *schema.Migrator
	outbox       *outbox.Outbox
	minutes      *measure.Counts
	gauges       *measure.Collector
	gate         *gate
	keeper       *quarantine.Keeper // used by the gateway
	gateway      *gateway.Gateway   // nil if no gateway runs
	worker       *worker.Worker     // nil if no worker runs
	destinations *destinations      // nil if no worker runs
	console      *console.Console
	signin       *signin.Guard
	admin        *admin.Admin
	certificates certificates
	progress     progress

	config   atomic.Pointer[config.Config] // current configuration
	reload   sync.Mutex                    // held during a reload, so that only one runs
	process  string                        // name of this process for other processes
	told     *fleet.Presence               // the gateway's last announcement; guarded by reload
	draining atomic.Bool
	teardown Teardown
	prepared chan struct{} // closed once the database is known to be migrated and all parts run
	failed   chan error    // receives an error that ends the App
}

// New assembles the parts. It does not listen or connect.
func New(ctx context.Context, opts Options) (*App, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("app: %w", err)
	}
	a := &App{
		opts:     opts,
		teardown: Teardown{Logger: opts.Logger},
		prepared: make(chan struct{}),
		failed:   make(chan error, 1),
		process:  processName(),
	}
	a.config.Store(opts.Config)
	if err := a.assemble(ctx); err != nil {
		return nil, errors.Join(err, a.teardown.Run(context.WithoutCancel(ctx), stopSlack))
	}
	return a, nil
}

// assemble creates the parts in the order of their dependencies, and registers the stop of each
// part as soon as it exists. The worker settles through the outbox, so the outbox stops after it.
func (a *App) assemble(ctx context.Context) error {
	var err error
	a.telemetry, err = telemetry.Start(ctx, telemetry.Options{
		ServiceName: "hooklatch", Version: a.opts.Version, Instance: a.opts.Config.Admin.Listen, Logger: a.opts.Logger,
	})
	if err != nil {
		return err
	}
	a.teardown.AddMinor("telemetry", telemetryTimeout, a.telemetry.Stop)
	if a.opts.GlobalTelemetry {
		a.telemetry.SetGlobal()
	}
	if err := a.countOutputs(); err != nil {
		return err
	}
	if err := a.openPools(ctx); err != nil {
		return err
	}
	name := schema.Name(a.opts.Config.Database.Schema)
	if a.migrator, err = schema.NewMigrator(a.pools.direct, name, a.opts.Logger); err != nil {
		return err
	}
	a.outbox, err = outbox.New(outbox.Options{
		Pool: a.pools.work, AcceptPool: a.pools.accept, ReadPool: a.pools.read, Schema: name,
		AcceptTimeout: a.opts.Config.Gateway.AcceptTimeout, ConsoleURL: a.opts.Config.Admin.ConsoleURL,
		Logger: a.opts.Logger, MeterProvider: a.telemetry.MeterProvider,
	})
	if err != nil {
		return err
	}
	a.teardown.Add("outbox", outboxTimeout, a.outbox.Stop)
	if a.minutes, err = measure.NewCounts(measure.CountsOptions{Pool: a.pools.work, Schema: name, Logger: a.opts.Logger}); err != nil {
		return err
	}
	a.teardown.AddMinor("minutes", minutesTimeout, a.minutes.Stop)
	a.gauges, err = measure.NewCollector(measure.CollectorOptions{
		Pool: a.pools.read, Schema: name, SizeBudget: int64(a.opts.Config.Database.SizeBudget),
		Logger: a.opts.Logger, MeterProvider: a.telemetry.MeterProvider,
	})
	if err != nil {
		return err
	}
	a.teardown.AddMinor("gauges", gaugesTimeout, a.gauges.Stop)
	if err := a.loadCertificates(); err != nil {
		return err
	}
	if err := a.makeAdmin(); err != nil {
		return err
	}
	if a.opts.Worker {
		if err := a.makeWorker(); err != nil {
			return err
		}
	}
	if a.opts.Gateway {
		return a.makeGateway()
	}
	return nil
}

// Start binds the listeners, so that an address in use is reported immediately, and continues in
// the background: see Prepared and Failed.
func (a *App) Start(ctx context.Context) error {
	if err := a.admin.Start(); err != nil {
		return err
	}
	if a.gateway != nil {
		if err := a.gateway.Start(); err != nil {
			if errors.Is(err, syscall.EADDRINUSE) {
				return fmt.Errorf("gateway: address %s is in use by another program: %s", a.opts.Config.Gateway.Listen, a.opts.GatewayHint)
			}
			return err
		}
	}
	a.logStart(ctx)
	if lacks := a.lacks(a.opts.Config); lacks != "" {
		a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "not ready: "+lacks, slog.String(logkey.Path, a.opts.Config.Path()))
	}
	preparing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	a.teardown.AddMinor("start", startTimeout, func(context.Context) error {
		cancel()
		<-done
		return nil
	})
	go func() {
		defer close(done)
		var watching sync.WaitGroup
		defer watching.Wait()
		watching.Go(func() { a.watchFiles(preparing) })
		watching.Go(func() { a.watchProgress(preparing) })
		if a.prepare(preparing) {
			watching.Go(func() { a.keepAnnounced(preparing) })
			a.stayAnnounced(preparing)
		}
	}()
	return nil
}

// logStart logs what runs, and where it listens.
func (a *App) logStart(ctx context.Context) {
	cfg := a.opts.Config
	attrs := []slog.Attr{
		slog.String(logkey.Version, a.opts.Version),
		slog.String(logkey.Config, cfg.Path()),
		slog.String(logkey.ConfigHash, cfg.Hash()),
		slog.String(logkey.Admin, a.certificates.scheme("admin.tls")+a.admin.Addr().String()),
	}
	if a.gateway != nil {
		attrs = append(attrs, slog.String(logkey.Gateway, a.certificates.scheme("gateway.tls")+a.gateway.Addr().String()))
	}
	a.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "started", attrs...)
}

// Prepared returns a channel that is closed once the database is known to be migrated and all parts
// run.
func (a *App) Prepared() <-chan struct{} { return a.prepared }

// Failed returns a channel for an error that ends the App: an error that waiting cannot fix.
func (a *App) Failed() <-chan error { return a.failed }

// GatewayAddr returns the address of the gateway, or nil before Start.
func (a *App) GatewayAddr() net.Addr {
	if a.gateway == nil {
		return nil
	}
	return a.gateway.Addr()
}

// AdminAddr returns the address of the admin listener, or nil before Start.
func (a *App) AdminAddr() net.Addr { return a.admin.Addr() }

// Stop drains: the gateway accepts nothing new and finishes requests in flight while the worker
// finishes its jobs. Then the outbox commits what was submitted, and the connections close. /readyz
// fails from the beginning of Stop. Stop returns within stopSlack after worker.soft_stop, or after
// gateway.drain_timeout if no worker runs. Its error names the parts that are still running. It may
// be called again, and before Start.
func (a *App) Stop(ctx context.Context) error {
	a.draining.Store(true)
	if a.worker != nil {
		// The soft stop begins together with the gateway's drain, not after it.
		go func() { _ = a.worker.Stop(ctx) }() // the worker's step returns the error
	}
	return a.teardown.Run(ctx, a.drainTimeout()+stopSlack)
}

// drainTimeout returns the maximum time for jobs or deliveries to finish.
func (a *App) drainTimeout() time.Duration {
	if a.opts.Worker {
		return a.opts.Config.Worker.SoftStop
	}
	return a.opts.Config.Gateway.DrainTimeout
}
