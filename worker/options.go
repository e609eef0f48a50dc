package worker

import (
	"cmp"
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

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/option"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/worker/route"
)

// Defaults of Options.
const (
	defaultDispatchWorkers = 50
	defaultHandlerWorkers  = 20
	defaultSoftStop        = 20 * time.Second
	minJobTimeout          = 30 * time.Second
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
	Pool *pgxpool.Pool
	// Schema holds our tables and River's. Defaults to schema.Default.
	Schema schema.Name
	// Outbox is the ledger, on the same database and schema. Required.
	Outbox *outbox.Outbox

	// Routes say which events lead to which effects.
	Routes []route.Route
	// Destinations are where effects go. Every name a route gives must be here.
	Destinations []DestinationOptions
	// ConfigHash names the configuration the routes are from. It is stored with
	// every event they dispatch or skip.
	ConfigHash string

	// MaxBody is how many bytes of payload expressions and templates see of an
	// event of a source; 0: any. An effect that would see more is parked. Nil: 0
	// for every source.
	MaxBody func(source string) int64

	// Logger defaults to a logger that discards.
	Logger *slog.Logger
	// TracerProvider and MeterProvider default to the global ones.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider

	// DispatchWorkers is how many events without handlers are dispatched at
	// once. Defaults to 50.
	DispatchWorkers int
	// HandlerWorkers is how many events with handlers are dispatched at once,
	// of all sources together; each holds a connection. Defaults to 20.
	HandlerWorkers int

	// SoftStop is how long Stop lets running jobs finish before it cancels
	// their contexts. Below the time-out of a destination, a stop can leave
	// effects in doubt. Defaults to 20 seconds.
	SoftStop time.Duration
	// JobTimeout bounds one run of a job, waiting for a rate token included.
	// Defaults to what the slowest destination needs, and at least 30 seconds.
	JobTimeout time.Duration
	// RescueAfter is when a job that still counts as running is taken for
	// dead and run again. Defaults to JobTimeout and 30 seconds.
	RescueAfter time.Duration

	// ID names this process in River's records; at most 100 characters, unique
	// among running processes. Defaults to the host name, the process id and a
	// random part.
	ID string
}

// withDefaults returns a copy with every default filled in.
func (o Options) withDefaults() Options {
	o.Schema = o.Schema.OrDefault()
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.TracerProvider = cmp.Or(o.TracerProvider, otel.GetTracerProvider())
	o.MeterProvider = cmp.Or(o.MeterProvider, otel.GetMeterProvider())
	o.DispatchWorkers = cmp.Or(o.DispatchWorkers, defaultDispatchWorkers)
	o.HandlerWorkers = cmp.Or(o.HandlerWorkers, defaultHandlerWorkers)
	o.SoftStop = cmp.Or(o.SoftStop, defaultSoftStop)
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
		longest = max(longest, d.longestWait()+d.lease())
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
	check(inRange(o.DispatchWorkers, 1, maxQueueWorkers), "DispatchWorkers is %d, allowed are 1 to %d", o.DispatchWorkers, maxQueueWorkers)
	check(inRange(o.HandlerWorkers, 1, maxQueueWorkers), "HandlerWorkers is %d, allowed are 1 to %d", o.HandlerWorkers, maxQueueWorkers)
	check(o.SoftStop > 0, "SoftStop is %s, it must be positive", o.SoftStop)
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

func inRange(n, low, high int) bool { return n >= low && n <= high }
