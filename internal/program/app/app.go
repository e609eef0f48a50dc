package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

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
	"github.com/hooklatch/hooklatch/outbox/seen"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/worker"
)

// stopSlack is the maximum time that a stop takes beyond worker.soft_stop, or beyond
// gateway.drain_timeout in a process without a worker. The process then flushes its log. It exits
// within 5 seconds after worker.soft_stop or gateway.drain_timeout.
const (
	stopSlack = 4 * time.Second
	// drainSlack is the part of stopSlack for deliveries and jobs. The rest is for commits.
	drainSlack = 2 * time.Second
)

// These constants limit the times of the other steps of a stop.
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
	// DatabaseURL overrides database.url, database.direct_url and database.read_url. If it is zero
	// or equals database.url, it overrides nothing.
	DatabaseURL secret.Value
	// Gateway and Worker select the parts that run. At least one is required.
	Gateway, Worker bool
	// Migrate makes the process migrate the schema before any part uses it. In a process with a
	// gateway and a worker, database.migrate: on_start has the same effect.
	Migrate bool
	// AwaitMigrations makes the process wait until another process has applied pending migrations.
	// If false, the start fails while migrations are pending.
	AwaitMigrations bool
	// Handle registers Go handlers before the worker starts. If nil, there are no handlers.
	Handle func(w *worker.Worker, box *outbox.Outbox)
	// Load reads the configuration again, for Reload. If nil, no reload is possible.
	Load func() (*config.Config, error)

	// Version is the program version, for telemetry and the console.
	Version string
	// GatewayHint and AdminHint tell the user how to change an address that is in use. By default,
	// they name the configuration field.
	GatewayHint, AdminHint string
	// GlobalTelemetry makes this App's telemetry the default for all libraries of the process that
	// use OpenTelemetry.
	GlobalTelemetry bool
	// FilesEvery is the interval at which secret and certificate files are checked for changes. A
	// change takes effect immediately, unless the log says that it needs a restart. Defaults to
	// DefaultFilesEvery.
	FilesEvery time.Duration
	// StillFor is the time that the configuration file must be unchanged before Run reloads it.
	// Defaults to DefaultStillFor.
	StillFor time.Duration
	// Listener is the gateway's listener if another process, such as systemd, keeps its port open.
	// If nil, the gateway binds gateway.listen.
	Listener net.Listener
	// Tell notifies the service manager of the process's state, in lines such as READY=1: see
	// sd_notify(3). It may block: the process does not wait for it. It may be nil.
	Tell func(state string)
	// LargeBody is called before memory is allocated for a large delivery body. It may be nil.
	LargeBody func()
	// Outputs are the queues of the process's output streams, for metrics and /readyz. Defaults
	// to a queue that is never used, so that the metrics exist.
	Outputs []*logqueue.Queue
	// Logger defaults to a logger that discards everything.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	o.GatewayHint = cmp.Or(o.GatewayHint, "set gateway.listen in the configuration")
	o.AdminHint = cmp.Or(o.AdminHint, "set admin.listen in the configuration")
	o.FilesEvery = cmp.Or(o.FilesEvery, DefaultFilesEvery)
	o.StillFor = cmp.Or(o.StillFor, DefaultStillFor)
	if o.Config != nil && !o.Config.Database.OverriddenBy(o.DatabaseURL) {
		o.DatabaseURL = secret.Value{}
	}
	o.Config = o.overridden(o.Config)
	if len(o.Outputs) == 0 {
		o.Outputs = []*logqueue.Queue{logqueue.New(logqueue.Options{Out: io.Discard, Name: "stderr"})}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// overridden returns a configuration in which DatabaseURL, if it is set, replaces the URLs of the
// main database. DatabaseURL then applies to all parts, including migrations.
func (o Options) overridden(cfg *config.Config) *config.Config {
	if o.DatabaseURL.IsZero() || cfg == nil {
		return cfg
	}
	other := *cfg
	other.Database.URL, other.Database.DirectURL, other.Database.ReadURL = o.DatabaseURL, secret.Value{}, secret.Value{}
	return &other
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
	keeper       *quarantine.Keeper // nil in a process without a gateway
	gateway      *gateway.Gateway   // nil in a process without a gateway
	worker       *worker.Worker     // nil in a process without a worker
	destinations *destinations      // nil in a process without a worker
	console      *console.Console
	signin       *signin.Guard
	admin        *admin.Admin
	certificates certificates
	progress     progress
	manager      manager
	listening    sync.Mutex
	hearings     []*hearing            // guarded by listening
	deaf         atomic.Pointer[error] // why the process must be restarted, or nil: see deafness

	config   atomic.Pointer[config.Config] // current configuration
	reload   sync.Mutex                    // held while one reload takes effect, but not while files are read
	reloads  atomic.Pointer[admin.Reloads] // number of reloads so far, and the last one's error
	process  string                        // name by which other processes identify this process
	told     *fleet.Presence               // the gateway's last announcement; guarded by reload
	draining atomic.Bool
	left     sync.Once // lets only the first Stop wait for gateway.drain_delay
	teardown Teardown
	cell     string         // name of this App's cell
	cells    []*App         // the other cells, without listeners
	whole    *App           // the App of the main cell, whose field cells contains the others
	moving   *movingSources // shared by all cells
	away     sentencesAway  // cells that could not do their work in the last check; set by readyCells
	prepared chan struct{}  // closed once the database is known to be migrated and all parts run
	failed   chan error     // receives an error that waiting cannot fix
}

// New assembles the parts. It does not listen or connect.
func New(ctx context.Context, opts Options) (*App, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("app: %w", err)
	}
	opts.Config = opts.Config.InCell(config.MainCell)
	a := newApp(opts, config.MainCell)
	a.process, a.moving = processName(), newMovingSources()
	a.failed = make(chan error, 1+len(opts.Config.Cells))
	a.reloads.Store(&admin.Reloads{PID: os.Getpid()})
	if err := a.assemble(ctx); err != nil {
		return nil, errors.Join(err, a.teardown.Run(context.WithoutCancel(ctx), stopSlack))
	}
	return a, nil
}

// newApp returns an App without parts.
func newApp(opts Options, cell string) *App {
	a := &App{opts: opts, teardown: Teardown{Logger: opts.Logger}, manager: manager{send: opts.Tell}, cell: cell, prepared: make(chan struct{})}
	a.whole = a
	a.config.Store(opts.Config)
	return a
}

// assemble creates the parts in the order of their dependencies, and registers the stop of each
// part as soon as it exists. The worker settles effects through the outbox, so the outbox stops
// after the worker.
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
	if err := errors.Join(a.countOutputs(), a.countDeprecated()); err != nil {
		return err
	}
	if err := a.loadCertificates(ctx); err != nil {
		return err
	}
	if err := a.openDatabase(ctx); err != nil {
		return err
	}
	if err := a.makeAdmin(); err != nil {
		return err
	}
	if err := a.makeCell(); err != nil {
		return err
	}
	if err := a.addCells(ctx); err != nil {
		return err
	}
	leaving := a.nextMoving(a.opts.Config.Whole())
	a.moving.all.Store(&leaving)
	if a.opts.Gateway {
		return a.makeGateway()
	}
	return nil
}

// openDatabase creates the pools, and the parts that every process has: migrator, outbox, counters,
// gauges and console.
func (a *App) openDatabase(ctx context.Context) error {
	err := a.openPools(ctx)
	if err != nil {
		return err
	}
	a.hearings = a.pools.hearings(a.opts.Gateway, a.opts.Worker)
	name := schema.Name(a.opts.Config.Database.Schema)
	if a.migrator, err = schema.NewMigrator(a.pools.direct, name, a.opts.Logger); err != nil {
		return err
	}
	opts := outbox.Options{
		Pool: a.pools.work, AcceptPool: a.pools.accept, ReadPool: a.pools.read, Schema: name, PollOnly: !a.opts.Config.Database.Listens(),
		AcceptTimeout: a.opts.Config.Gateway.AcceptTimeout, ConsoleURL: a.opts.Config.Admin.ConsoleURL, Export: a.exported(),
		Logger: a.opts.Logger, MeterProvider: a.telemetry.MeterProvider,
	}
	if cache := a.opts.Config.Gateway.SeenCache; cache != nil && a.opts.Gateway {
		memory, err := seen.New(seen.Options{URL: cache.Redis, Logger: a.opts.Logger})
		if err != nil {
			return a.opts.Config.Problem("gateway.seen_cache.redis", err.Error())
		}
		a.teardown.AddMinor("seen cache", adminTimeout, memory.Stop)
		opts.Shared, opts.SharedTTL = memory, cache.TTL
	}
	if a.outbox, err = outbox.New(opts); err != nil {
		return err
	}
	a.teardown.Add("outbox", outboxTimeout, a.outbox.Stop)
	if a.minutes, err = measure.NewCounts(measure.CountsOptions{Pool: a.pools.work, Schema: name, Logger: a.opts.Logger}); err != nil {
		return err
	}
	a.teardown.AddMinor("minutes", minutesTimeout, a.minutes.Stop)
	a.gauges, err = measure.NewCollector(measure.CollectorOptions{
		Pool: a.pools.read, Schema: name, SizeBudget: int64(a.opts.Config.Database.SizeBudget), Counts: a.minutes,
		Logger: a.opts.Logger, MeterProvider: a.telemetry.MeterProvider,
	})
	if err != nil {
		return err
	}
	a.teardown.AddMinor("gauges", gaugesTimeout, a.gauges.Stop)
	a.console, err = a.makeConsole()
	return err
}

// makeCell creates the worker, and the gate and the quarantine of the gateway, for this App's cell.
func (a *App) makeCell() (err error) {
	if a.opts.Worker {
		if err := a.makeWorker(); err != nil {
			return err
		}
	}
	if a.opts.Gateway {
		a.gate = newGate(a.outbox, a.opts.Config.Gateway.AcceptTimeout)
		a.keeper, err = a.makeKeeper()
	}
	return err
}

// Start binds the listeners, so that it can return an error if an address is in use. The rest of
// the start continues in the background: see Prepared and Failed.
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
	a.tell(daemon.SdNotifyReady, "waits for the database")
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
		for _, one := range a.cells {
			watching.Go(func() { one.watchProgress(preparing) })
			watching.Go(func() { one.work(preparing) })
		}
		if len(a.cells) > 0 {
			watching.Go(func() { a.watchMoves(preparing) })
		}
		a.work(preparing)
	}()
	return nil
}

// work prepares the App: see prepare. Then it renews the announcements of the process and checks
// the pools, until ctx is done.
func (a *App) work(ctx context.Context) {
	if !a.prepare(ctx) {
		return
	}
	var keeping sync.WaitGroup
	defer keeping.Wait()
	keeping.Go(func() { a.keepAnnounced(ctx) })
	keeping.Go(func() { a.watchHearing(ctx) })
	a.stayAnnounced(ctx)
}

// logStart logs the parts that run, and their addresses.
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

// Failed returns a channel that receives an error that waiting cannot fix. After such an error, the
// caller must stop the App.
func (a *App) Failed() <-chan error { return a.failed }

// GatewayAddr returns the address of the gateway, or nil before Start or without a gateway.
func (a *App) GatewayAddr() net.Addr {
	if a.gateway == nil {
		return nil
	}
	return a.gateway.Addr()
}

// AdminAddr returns the address of the admin listener, or nil before Start.
func (a *App) AdminAddr() net.Addr { return a.admin.Addr() }

// Stop waits for gateway.drain_delay, during which deliveries are accepted as before, and then
// drains. The gateway accepts nothing new and finishes requests in flight, while the worker
// finishes its jobs. Then the outbox commits all submitted work, and the connections close. /readyz
// fails from the beginning of Stop. After the delay, Stop returns within stopSlack after
// worker.soft_stop, or after gateway.drain_timeout in a process without a worker. Its error names
// the parts that are still running. Stop may be called before Start, and more than once.
func (a *App) Stop(ctx context.Context) error {
	a.draining.Store(true)
	a.left.Do(func() { a.leave(ctx) })
	for _, one := range a.all() {
		one.draining.Store(true)
		if one.worker != nil {
			// The soft stop begins together with the gateway's drain, not after it.
			go func() { _ = one.worker.Stop(ctx) }() // the worker's teardown step returns the error
		}
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
