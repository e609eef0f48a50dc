package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/hooklatch/hooklatch/internal/failpoint"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/worker/route"
)

// Worker dispatches events and performs effects. It is used once: New, Handle,
// Start, Stop.
type Worker struct {
	opts      Options
	pool      *pgxpool.Pool
	sql       statements
	outbox    *outbox.Outbox // stores events
	ledger    *ledger.Ledger
	fleet     *fleet.Fleet
	runs      *runs.Runs
	telemetry *telemetry
	made      time.Time
	lanes     map[string]*served // by destination name
	routing   atomic.Pointer[routing]
	attempts  *attempter
	trips     *tripper
	births    *births
	near      *nearPlanner
	limits    limits

	running      underway
	handlerSlots chan struct{}
	handlerWatch handlerWatch
	runSlots     chan struct{}
	probeSlots   chan struct{}
	foreign      sync.Map // sources and destinations logged once as left to other processes
	handlersTx   pgx.TxOptions
	unredacted   atomic.Int64 // number of successive redactions that ran out of time
	noStagger    bool         // true in tests, which do not wait for River's staggered start
	keepsJobs    bool         // see Options.KeepJobs

	announcing sync.Mutex // guards announcements to other processes; locked after mu where both are held
	withdrawn  bool       // if true, no more announcements follow

	mu       sync.Mutex // guards the fields below
	started  bool
	sealed   bool // true after the announcement: no more handlers can be added
	stopped  bool
	handlers handlerSet // read without mu once sealed
	misuse   []error    // errors of Handle, reported by Start
	client   *river.Client[pgx.Tx]
	presence *presence
	finder   *queueFinder // nil unless a handler serves all sources
	pauses   *pauseKeeper
	ended    chan struct{} // created by the first Stop after an announcement, closed when all work has ended
}

// limits are timeouts of work in a Worker. Tests raise them, because a machine under load may need
// longer. handlersGone is a minimum, which tests leave out: see handlersGoneFor.
type limits struct{ announce, trip, record, commit, handlersGone time.Duration }

// New checks the options and compiles all routes. It does not access the database. Its error lists
// all faults of the options, or, if there are none, all faults of routes, as *route.Error.
func New(opts Options) (*Worker, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	telemetry, err := newTelemetry(opts)
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	var sql statements
	if err := statement.Load(&sql, queries, "query", opts.Schema.SQL); err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	w := &Worker{
		opts:         opts,
		pool:         opts.Pool,
		sql:          sql,
		outbox:       opts.Outbox,
		ledger:       opts.Outbox.Ledger(),
		fleet:        opts.Outbox.Fleet(),
		telemetry:    telemetry,
		made:         time.Now(),
		keepsJobs:    opts.KeepJobs > 0,
		lanes:        make(map[string]*served, len(opts.Destinations)),
		runSlots:     make(chan struct{}, runsAtOnce),
		probeSlots:   make(chan struct{}, probesAtOnce),
		handlerSlots: make(chan struct{}, opts.HandlerWorkers),
		// Postgres ends a handler transaction that is idle for longer than this limit. The limit
		// lies between the job's timeout and its rescue. A handler that ignores its context and
		// leaves its transaction idle from the start therefore holds no locks after the rescue.
		handlersTx: commit.TransactionOptions(opts.JobTimeout + (opts.RescueAfter-opts.JobTimeout)/2),
		limits:     limits{announce: announceTimeout, trip: tripTimeout, record: recordTimeout, commit: commitTimeout, handlersGone: handlersGoneFor},
	}
	for _, d := range opts.Destinations {
		w.lanes[d.Name] = serve(d, w.fleet.TakeTokens)
	}
	w.runs = w.outbox.Runs().With(w.outbox.Finder().With(route.CompileCondition)).Verifying(opts.Verify)
	routing, err := w.compile(opts.routing())
	if err != nil {
		return nil, err
	}
	w.routing.Store(routing)
	w.trips = &tripper{fleet: w.fleet, telemetry: telemetry, limits: &w.limits}
	w.attempts = &attempter{ledger: w.ledger, events: w.outbox.Inbox(), fleet: w.fleet, routing: &w.routing, telemetry: telemetry, trip: w.trips.trip, patience: senderPatience}
	w.births = newBirths(w.attempts, w.lanes, &w.running, w.keepsJobs)
	w.near = &nearPlanner{dispatch: &dispatchWorker{Worker: w}}
	return w, nil
}

// Handle registers a handler for the events of a source ("*" for all sources) whose type matches.
// In eventType, "*" matches any text. Several handlers of one event run in registration order, in
// one transaction. The gateway must set outbox.Delivery.Handlers for sources with handlers. With
// "*", a source's first event may wait a second or two until its queue is found. Handle panics
// after Announce or Start.
func (w *Worker) Handle(source, eventType string, fn HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started || w.sealed {
		panic("worker: Handle called after Announce or Start")
	}
	r := registration{source: source, types: eventType, handle: fn}
	if err := r.validate(); err != nil {
		w.misuse = append(w.misuse, fmt.Errorf("handler of %q %q: %w", source, eventType, err))
		return
	}
	w.handlers = append(w.handlers, r)
}

// Start validates the schema, announces the process, registers the destinations, creates partitions
// and starts the jobs. ctx bounds only the start; Stop ends the work. A Worker can be started only
// once, and not after Stop.
func (w *Worker) Start(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started || w.stopped {
		return errors.New("start worker: it was started or stopped before")
	}
	if err := errors.Join(w.misuse...); err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	migrator, err := schema.NewMigrator(w.pool, w.opts.Schema, w.opts.Logger)
	if err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	if err := migrator.Validate(ctx); err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	if err := w.announce(ctx); err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	w.warnOfFewConns(ctx)
	if err := w.registerDestinations(ctx); err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	// The periodic job is not enough: after a long stop there may be no partitions left, and the
	// gateway could accept nothing until the job has run.
	if err := w.makePartitions(ctx); err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	queues, all := w.handlers.queues()
	client, err := w.newRiverClient(queues)
	if err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	w.trips.client = client
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	w.client, w.started, w.pauses = client, true, w.keepPauses(client)
	if all {
		w.finder = w.findQueues(client, queues)
	}
	if w.opts.Accepts && len(w.handlers) == 0 && !w.keepsJobs {
		w.outbox.PlanWith(w.near)
	}
	return nil
}

// Stop makes the Worker take no new jobs, lets running jobs finish for Options.SoftStop, and then
// cancels them. It returns when all jobs have ended or ctx is done. It may be called before Start,
// several times, and by several goroutines.
func (w *Worker) Stop(ctx context.Context) error {
	w.mu.Lock()
	w.stopped = true // a stopped Worker does not start
	if w.presence != nil && w.ended == nil {
		w.ended = make(chan struct{})
		go w.drain() //nolint:gosec // the stop outlasts the context of every caller
	}
	ended := w.ended
	w.mu.Unlock()
	if ended == nil {
		return nil
	}
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop worker: %w", ctx.Err())
	}
}

// drain stops the worker. It does not use a caller's context: River would make a second caller wait
// for the first, regardless of the second caller's context.
func (w *Worker) drain() {
	defer close(w.ended)
	_ = failpoint.Hit("worker.draining") // no caller receives an error here
	w.near.stop()
	ended := w.births.stop(w.opts.SoftStop)
	defer ended()
	if w.pauses != nil {
		w.pauses.stop()
	}
	if w.finder != nil {
		w.finder.stop()
	}
	for _, l := range w.lanes {
		l.Close()
	}
	if w.client != nil {
		_ = w.client.Stop(context.Background()) // Stop fails only if its context ends
	}
	w.running.Wait()
	w.withdraw(w.presence)
}
