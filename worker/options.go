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

// Bounds of Options, and what runs may take beside their work.
const (
	minJobTimeout = 30 * time.Second
	// rescueSlack is what a rescue waits beyond the time-out of a run, so that
	// a run that honours its context has ended before it is rescued.
	rescueSlack = 30 * time.Second
	// ledgerSlack is what a run of an effect may take beside the call: one
	// claim and one settlement.
	ledgerSlack = 10 * time.Second
	// maxClientID is River's limit for the ID of a client.
	maxClientID = 100
	// maxQueueWorkers is River's limit for one queue.
	maxQueueWorkers = 10_000
)

// Options configure a Worker.
type Options struct {
	// Pool is the migrated database. River keeps one connection of it for
	// LISTEN, and each running handler holds one; effects in the same Postgres
	// hold one of the pool of Outbox. See ConnsNeeded. Required.
	Pool *pgxpool.Pool `yaml:"-"`
	// Schema holds our tables and River's. Defaults to schema.Default.
	Schema schema.Name `yaml:"-"`
	// Outbox is the ledger, on the same database and schema. Required.
	Outbox *outbox.Outbox `yaml:"-"`

	// Routes say which events lead to which effects. A Worker that has handlers, and
	// no routes when it starts, leaves events without handlers to other processes.
	Routes []route.Route `yaml:"-"`
	// Destinations are where effects go. Every name a route gives must be here.
	Destinations []DestinationOptions `yaml:"-"`
	// Sources are those whose events are dispatched here; "*" is every source. Events of
	// another source are left to processes that have it. Nil: the sources that Routes
	// name.
	Sources []string `yaml:"-"`
	// ConfigHash names the configuration the routes are from. It is stored with
	// every event they dispatch or skip.
	ConfigHash string `yaml:"-"`

	// MaxBody is how many bytes of payload expressions and templates see of an
	// event of a source; 0: any. An effect that would see more is parked. Nil: 0
	// for every source.
	MaxBody func(source string) int64 `yaml:"-"`

	// Retention says how long things are kept, at each run of it. Nil: this process
	// deletes nothing.
	Retention func() retention.Settings `yaml:"-"`

	// Redactions are what sources do not keep, asked for whenever it is looked for. Of
	// several processes one works on that at a time, by what it knows. Nil: none.
	Redactions func() []erasure.Redaction `yaml:"-"`

	// Synchronous says that commits wait for a standby, and that only such a standby is
	// ever promoted: at_most_once effects go on after it, without a person who says that
	// nothing is missing. See package repair.
	Synchronous bool `yaml:"-"`

	// Checks returns the checks that one process of the fleet runs every 10
	// minutes. It is asked each time. Nil: there are none.
	Checks func() []agreement.Check `yaml:"-"`

	// Minutes count attempts by the minute, and are tidied by the process that leads.
	// Nil: nothing is counted.
	Minutes *measure.Counts `yaml:"-"`
	// Alarm is asked every 15 seconds, by one process at a time, to tell people what needs
	// them. Nil: nobody is told.
	Alarm interface {
		Turn(ctx context.Context) error
	} `yaml:"-"`
	// Backfill is asked every 15 seconds, by one process at a time, to make the passes over
	// the lists of providers that are due. Nil: there are none.
	Backfill interface {
		Turn(ctx context.Context) error
	} `yaml:"-"`
	// Verify verifies refused deliveries again, for bulk runs. Nil: such runs are left to
	// other processes.
	Verify quarantine.Verify `yaml:"-"`
	// Accepts says that a gateway runs in this process.
	Accepts bool `yaml:"-"`
	// Logger defaults to a logger that discards.
	Logger *slog.Logger `yaml:"-"`
	// TracerProvider and MeterProvider default to the global ones.
	TracerProvider trace.TracerProvider `yaml:"-"`
	MeterProvider  metric.MeterProvider `yaml:"-"`

	// Events without handlers that are dispatched at once. Defaults to 50.
	DispatchWorkers int `yaml:"dispatch_workers,omitempty"`
	// Events in handlers at once, of all sources together; each holds a
	// transaction and so a connection. Defaults to 20.
	HandlerWorkers int `yaml:"handler_workers,omitempty"`
	// How long a stopping worker lets its jobs finish before it cancels them.
	// Below the time-out of a destination, a stop can leave effects in doubt.
	// The process ends at most 5 seconds after that.
	// Defaults to 20s.
	SoftStop time.Duration `yaml:"soft_stop,omitempty"`
	// JobTimeout bounds one run of a job, waiting for a rate token included.
	// Defaults to what the slowest destination needs, and at least 30 seconds.
	JobTimeout time.Duration `yaml:"-"`
	// RescueAfter is when a job that still counts as running is taken for
	// dead and run again. Defaults to JobTimeout and 30 seconds.
	RescueAfter time.Duration `yaml:"-"`

	// ID names this process in River's records; at most 100 characters, unique
	// among running processes. Defaults to the host name, the process id and a
	// random part.
	ID string `yaml:"-"`
}

// WithDefaults returns a copy in which what was left out has its default, of
// what a file can set.
func (o Options) WithDefaults() Options {
	o.DispatchWorkers = cmp.Or(o.DispatchWorkers, 50)
	o.HandlerWorkers = cmp.Or(o.HandlerWorkers, 20)
	o.SoftStop = cmp.Or(o.SoftStop, 20*time.Second)
	return o
}

// Validate finds what is wrong with options that have their defaults, of what a
// file can set. Its error is option.Faults.
func (o Options) Validate() error {
	var c option.Check
	c.AtLeast("dispatch_workers", int64(o.DispatchWorkers), 1)
	c.AtMost("dispatch_workers", int64(o.DispatchWorkers), maxQueueWorkers)
	c.AtLeast("handler_workers", int64(o.HandlerWorkers), 1)
	c.AtMost("handler_workers", int64(o.HandlerWorkers), maxQueueWorkers)
	c.Positive("soft_stop", o.SoftStop)
	return c.Err()
}

// withDefaults returns a copy with every default filled in.
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

// table says how routes are compiled, those of New and later ones.
func (o Options) table(routes []route.Route, configHash string) route.Options {
	targets := make([]route.Target, 0, len(o.Destinations))
	for _, d := range o.Destinations {
		targets = append(targets, route.Target{Name: d.Name, Queue: d.Queue, Policy: d.Policy, Sender: d.Sender})
	}
	return route.Options{Routes: routes, Targets: targets, ConfigHash: configHash, MaxBody: o.MaxBody}
}

// jobTimeout is what a run needs at the slowest destination.
func jobTimeout(destinations []DestinationOptions) time.Duration {
	longest := minJobTimeout
	for _, d := range destinations {
		longest = max(longest, d.limits().LongestWait()+d.lease())
	}
	return longest
}

// clientID is unique for each Worker, so that River's records say which process
// made an attempt, and which start of it.
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
	check(o.JobTimeout > 0, "JobTimeout is %s, it must be positive", o.JobTimeout)
	check(o.RescueAfter > o.JobTimeout, "RescueAfter is %s, it must be longer than JobTimeout (%s)", o.RescueAfter, o.JobTimeout)
	check(len(o.ID) <= maxClientID, "ID has %d characters, at most %d are allowed", len(o.ID), maxClientID)

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
