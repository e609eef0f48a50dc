package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/internal/agreement"
	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/retention"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/worker/route"
)

// Bounds of Options, and the extra time that runs may take.
const (
	minJobTimeout = 30 * time.Second
	// rescueSlack is the time from a run's timeout to its rescue. A run that honours its context
	// has ended by then.
	rescueSlack = 30 * time.Second
	// ledgerSlack is the time that an effect run may take in addition to the call: one claim and
	// one settlement.
	ledgerSlack = 10 * time.Second
	// maxClientID is River's limit for a client's ID.
	maxClientID = 100
	// maxQueueWorkers is River's limit for one queue.
	maxQueueWorkers = 10_000
)

// Options configure a Worker.
type Options struct {
	// Pool connects to the migrated database. River uses one of its connections for LISTEN, unless
	// PollOnly is set, and each running handler uses one. Effects in the same Postgres use
	// connections from Outbox's pool. See ConnsNeeded. Required.
	Pool *pgxpool.Pool `yaml:"-"`
	// Schema contains Hooklatch's tables and River's. Defaults to schema.Default.
	Schema schema.Name `yaml:"-"`
	// Outbox is the ledger, on the same database and schema. Required.
	Outbox *outbox.Outbox `yaml:"-"`

	// Routes map events to effects. A Worker that starts with handlers but without routes leaves
	// events without handlers to other processes.
	Routes []route.Route `yaml:"-"`
	// Destinations receive the effects. Every destination that a route names must be among them.
	Destinations []DestinationOptions `yaml:"-"`
	// Sources are the sources whose events are dispatched here; "*" is every source. Events of other
	// sources are left to processes that have those sources. If nil, Sources are the sources that
	// Routes name.
	Sources []string `yaml:"-"`
	// LeftToHandlers lists the Sources whose events are processed by programs with Go handlers, not
	// by this process's routes. Such events go to the queues of handlers, even if they were
	// accepted before the source had handlers. The events of the other sources are taken back from
	// these queues while no running process has handlers for them. If nil, the process does not
	// know which sources have handlers elsewhere, and moves no events.
	LeftToHandlers []string `yaml:"-"`
	// ConfigHash identifies the configuration of the routes. It is stored with every event that the
	// routes dispatch or skip.
	ConfigHash string `yaml:"-"`

	// MaxBody returns the maximum number of bytes of a source's payload that expressions and
	// templates read; 0 means no limit. An effect that would read more is parked. If nil, no source
	// has a limit.
	MaxBody func(source string) int64 `yaml:"-"`
	// MaxBodies are limits like those of MaxBody, by source. A source's limit in MaxBodies takes
	// precedence over MaxBody. Processes with different MaxBodies have different configurations:
	// after a limit was raised, no older process parks an effect that only the new limit allows.
	MaxBodies map[string]int64 `yaml:"-"`

	// Search returns JSON pointers to the values by which operators find a source's events. It is
	// called for each dispatch. If nil, no values are stored.
	Search func(source string) []string `yaml:"-"`

	// Retention returns how long data is kept. It is called before each retention run. If nil, this
	// process deletes nothing.
	Retention func() retention.Settings `yaml:"-"`

	// Redactions returns the values to redact, by source. It is called before each redaction run. One
	// process redacts at a time, with its own settings. If nil, this process redacts nothing.
	Redactions func() []erasure.Redaction `yaml:"-"`

	// PollOnly makes River poll every queue often instead of waiting for notifications, for servers
	// and poolers without LISTEN.
	PollOnly bool `yaml:"-"`

	// Synchronous declares that commits wait for a standby, and that only such a standby is ever
	// promoted. After a promotion, at_most_once effects then continue although no operator has
	// confirmed that nothing is missing. See package repair.
	Synchronous bool `yaml:"-"`

	// Checks returns the checks that one process of the fleet runs every 10 minutes. It is
	// called before each run. If nil, there are no checks.
	Checks func() []agreement.Check `yaml:"-"`

	// Minutes counts attempts by the minute; the leading process removes old counts. If nil, nothing
	// is counted.
	Minutes *measure.Counts `yaml:"-"`
	// Alarm is called every 15 seconds, in one process at a time, to notify operators of conditions
	// that need attention. If nil, no notifications are sent.
	Alarm interface {
		Turn(ctx context.Context) error
	} `yaml:"-"`
	// Backfill is called every 15 seconds, in one process at a time, to start due passes over
	// provider lists. If nil, no passes start.
	Backfill interface {
		Turn(ctx context.Context) error
	} `yaml:"-"`
	// Verify verifies refused deliveries again, for bulk runs. If nil, such runs are left to
	// other processes.
	Verify quarantine.Verify `yaml:"-"`
	// Accepts reports whether a gateway runs in this process.
	Accepts bool `yaml:"-"`
	// Logger defaults to a logger that discards everything.
	Logger *slog.Logger `yaml:"-"`
	// TracerProvider and MeterProvider default to the global ones.
	TracerProvider trace.TracerProvider `yaml:"-"`
	MeterProvider  metric.MeterProvider `yaml:"-"`

	// Maximum number of events without handlers that are dispatched simultaneously. Defaults to 50.
	DispatchWorkers int `yaml:"dispatch_workers,omitempty"`
	// Maximum number of events that handlers process simultaneously, of all sources together; each
	// event uses a transaction and so a connection. Defaults to 20.
	HandlerWorkers int `yaml:"handler_workers,omitempty"`
	// Time for which a stopping worker lets its jobs finish before it cancels them. If this time is
	// shorter than a destination's timeout, a stop can leave effects in doubt. The process ends at
	// most 5 seconds later. Defaults to 20s.
	SoftStop time.Duration `yaml:"soft_stop,omitempty"`
	// Time for which River jobs that did their work are kept, so that River UI shows them. If 0, a
	// job is deleted as soon as its first run has done its work, and after 2 hours if it took
	// several runs. Jobs of erased events are deleted earlier. Kept jobs make the table river_job
	// larger and each event more expensive: see docs/operations.md#river-ui. Give all workers the
	// same value, because one worker deletes the jobs of all.
	KeepJobs time.Duration `yaml:"keep_jobs,omitempty"`
	// JobTimeout limits one run of a job, including the wait for a rate token. Defaults to the time
	// that the slowest destination needs, but at least 30 seconds.
	JobTimeout time.Duration `yaml:"-"`
	// RescueAfter is the time after which a job that still counts as running is assumed dead and
	// run again. Defaults to JobTimeout plus 30 seconds.
	RescueAfter time.Duration `yaml:"-"`

	// ID identifies this process in River's records. It has at most 100 characters and is
	// unique among running processes. Defaults to the host name, the process id and a random
	// part.
	ID string `yaml:"-"`
}

// WithDefaults returns a copy with default values for options that a configuration file can set.
func (o Options) WithDefaults() Options {
	o.DispatchWorkers = cmp.Or(o.DispatchWorkers, 50)
	o.HandlerWorkers = cmp.Or(o.HandlerWorkers, 20)
	o.SoftStop = cmp.Or(o.SoftStop, 20*time.Second)
	return o
}

// Validate checks the options that a configuration file can set. Callers call WithDefaults first.
// The error is option.Faults.
func (o Options) Validate() error {
	var c option.Check
	c.AtLeast("dispatch_workers", int64(o.DispatchWorkers), 1)
	c.AtMost("dispatch_workers", int64(o.DispatchWorkers), maxQueueWorkers)
	c.AtLeast("handler_workers", int64(o.HandlerWorkers), 1)
	c.AtMost("handler_workers", int64(o.HandlerWorkers), maxQueueWorkers)
	c.Positive("soft_stop", o.SoftStop)
	c.NotNegative("keep_jobs", o.KeepJobs)
	return c.Err()
}

// withDefaults returns a copy with all default values.
func (o Options) withDefaults() Options {
	o = o.WithDefaults()
	o.Schema = o.Schema.OrDefault()
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.TracerProvider = cmp.Or(o.TracerProvider, otel.GetTracerProvider())
	o.MeterProvider = cmp.Or(o.MeterProvider, otel.GetMeterProvider())
	o.Destinations = slices.Clone(o.Destinations)
	for i, d := range o.Destinations {
		o.Destinations[i] = d.WithDefaults()
	}
	assignQueues(o.Destinations)
	o.JobTimeout = cmp.Or(o.JobTimeout, jobTimeout(o.Destinations))
	o.RescueAfter = cmp.Or(o.RescueAfter, o.JobTimeout+rescueSlack)
	o.ID = cmp.Or(o.ID, clientID())
	return o
}

// routing returns the part of the options that may change while the Worker runs.
func (o Options) routing() Routing {
	return Routing{Routes: o.Routes, Sources: o.Sources, LeftToHandlers: o.LeftToHandlers, MaxBodies: o.MaxBodies, ConfigHash: o.ConfigHash}
}

// table returns the options for compiling routes, for New and SetRouting.
func (o Options) table(r Routing) route.Options {
	targets := make([]route.Target, 0, len(o.Destinations))
	for _, d := range o.Destinations {
		targets = append(targets, route.Target{Name: d.Name, Queue: d.Queue, Policy: d.Policy, Sender: d.Sender})
	}
	maxBody := func(source string) int64 {
		switch limit, given := r.MaxBodies[source]; {
		case given:
			return limit
		case o.MaxBody != nil:
			return o.MaxBody(source)
		}
		return 0
	}
	return route.Options{Routes: r.Routes, Targets: targets, ConfigHash: r.ConfigHash, MaxBody: maxBody, LeftToHandlers: r.LeftToHandlers}
}

// jobTimeout returns the time that a run may need at the slowest destination, but at least
// minJobTimeout.
func jobTimeout(destinations []DestinationOptions) time.Duration {
	longest := minJobTimeout
	for _, d := range destinations {
		longest = max(longest, d.limits().LongestWait()+d.lease())
	}
	return longest
}

// clientID returns an id that is unique for each Worker. River's records show by this id which
// process made an attempt; a restarted process has another id.
func clientID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	suffix := "-" + strconv.Itoa(os.Getpid()) + "-" + uuid.NewString()[:8]
	return host[:min(len(host), maxClientID-len(suffix))] + suffix
}

func (o Options) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(o.Pool != nil, "Pool is required")
	check(o.Outbox != nil, "Outbox is required")
	if err := o.Schema.Validate(); err != nil {
		errs = append(errs, err)
	}
	for _, fault := range option.FaultsOf("", o.Validate()) {
		errs = append(errs, fault)
	}
	check(o.JobTimeout > 0, "JobTimeout is %s; it must be positive", o.JobTimeout)
	check(o.RescueAfter > o.JobTimeout, "RescueAfter is %s; it must be longer than JobTimeout (%s)", o.RescueAfter, o.JobTimeout)
	check(len(o.ID) <= maxClientID, "ID has %d characters; at most %d are allowed", len(o.ID), maxClientID)

	names := map[string]bool{}
	for _, d := range o.Destinations {
		check(!names[d.Name], "destination %q is given twice", d.Name)
		names[d.Name] = true
		check(d.Name != "", "destination %q: Name is required", d.Name)
		check(d.Sender != nil, "destination %q: Sender is required", d.Name)
		for _, fault := range option.FaultsOf("", d.Validate()) {
			errs = append(errs, fmt.Errorf("destination %q: %w", d.Name, fault))
		}
	}
	return errors.Join(errs...)
}
