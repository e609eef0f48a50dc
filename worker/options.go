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
	"github.com/hooklatch/hooklatch/outbox/riverjob"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/route"
)

// Defaults of Options and Destination.
const (
	defaultDispatchWorkers = 50
	defaultHandlerWorkers  = 20
	defaultSoftStop        = 20 * time.Second
	defaultConcurrency     = 10
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
	Destinations []Destination
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

// Destination is where effects go.
type Destination struct {
	// Name is what routes and EnqueueTx call it. Required.
	Name string
	// Sender makes the attempts. Required.
	Sender destination.Sender
	// Queue is its River queue: lower-case letters, digits, "_", "-" and "|",
	// at most 64. Defaults to "dst_" and the name; with more than 32 such
	// destinations, to one of 32 shared queues chosen by a hash of the name.
	Queue string
	// Policy is what happens after an attempt that may have been applied.
	// Defaults to outbox.AtLeastOnce.
	Policy outbox.Policy
	// Concurrency is how many attempts run at once in this process. Defaults to 10.
	Concurrency int
	// Rate is how many attempts start each second, in all processes together,
	// which should agree on it. 0: unlimited. With a rate, no more run at once
	// in one process than ten seconds' worth.
	Rate float64
	// Burst is how many may start at once after a pause. Defaults to one
	// second's worth, and at least 1.
	Burst int
	// Timeout bounds one attempt. Defaults to the sender's own, or 15 seconds.
	Timeout time.Duration
	// Retry is when the next attempt follows, and how many there are.
	Retry destination.Schedule
	// KeyTTL is how long the receiver remembers an idempotency key. An effect
	// that has been in doubt for longer is parked, because the key would not
	// protect it any more. 0: for ever.
	KeyTTL time.Duration
	// OnStoredError is what follows when the receiver replays an error it had
	// stored for the key. Defaults to OnStoredErrorKeep.
	OnStoredError OnStoredError
	// Breaker pauses the destination while it is down.
	Breaker Breaker
	// ConfigHash names the configuration the destination is from.
	ConfigHash string
}

// OnStoredError is what follows when a receiver does not look at a request
// again, but replays the server error it had stored for the key.
type OnStoredError string

// What may follow a stored error.
const (
	// OnStoredErrorKeep tries again under the same key, until the attempts are
	// used up or the receiver forgets the key.
	OnStoredErrorKeep OnStoredError = "keep"
	// OnStoredErrorNewKey tries again under another key, which the ledger
	// records. Whatever the failed request did is done again.
	OnStoredErrorNewKey OnStoredError = "new_key"
)

// withDefaults returns a copy with every default filled in.
func (o Options) withDefaults() Options {
	o.Schema = o.Schema.OrDefault()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	o.DispatchWorkers = cmp.Or(o.DispatchWorkers, defaultDispatchWorkers)
	o.HandlerWorkers = cmp.Or(o.HandlerWorkers, defaultHandlerWorkers)
	o.SoftStop = cmp.Or(o.SoftStop, defaultSoftStop)
	o.Destinations = slices.Clone(o.Destinations)
	for i := range o.Destinations {
		d := &o.Destinations[i]
		d.Policy = cmp.Or(d.Policy, outbox.AtLeastOnce)
		d.Concurrency = cmp.Or(d.Concurrency, defaultConcurrency)
		d.Burst = cmp.Or(d.Burst, max(1, int(d.Rate)))
		if sender, ok := d.Sender.(interface{ Timeout() time.Duration }); ok {
			d.Timeout = cmp.Or(d.Timeout, sender.Timeout())
		}
		d.Timeout = cmp.Or(d.Timeout, destination.DefaultTimeout)
		d.OnStoredError = cmp.Or(d.OnStoredError, OnStoredErrorKeep)
		d.Breaker = d.Breaker.WithDefaults()
	}
	assignQueues(o.Destinations)
	o.JobTimeout = cmp.Or(o.JobTimeout, jobTimeout(o.Destinations))
	o.RescueAfter = cmp.Or(o.RescueAfter, o.JobTimeout+rescueSlack)
	o.ID = cmp.Or(o.ID, clientID())
	return o
}

// table is what routes, those of New or later ones, are compiled with.
func (o Options) table(routes []route.Route, configHash string) route.Options {
	targets := make([]route.Target, 0, len(o.Destinations))
	for _, d := range o.Destinations {
		targets = append(targets, route.Target{Name: d.Name, Queue: d.Queue, Policy: d.Policy, Sender: d.Sender})
	}
	return route.Options{Routes: routes, Targets: targets, ConfigHash: configHash, MaxBody: o.MaxBody}
}

// jobTimeout is what a run needs at the slowest destination.
func jobTimeout(destinations []Destination) time.Duration {
	longest := minJobTimeout
	for _, d := range destinations {
		longest = max(longest, d.longestWait()+d.lease())
	}
	return longest
}

// clientID is unique for each Worker, so that an attempt in River's records
// names the process and the start of it.
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
		if err := d.validate(); err != nil {
			errs = append(errs, fmt.Errorf("destination %q: %w", d.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (d Destination) validate() error {
	switch {
	case d.Name == "":
		return errors.New("Name is required")
	case d.Sender == nil:
		return errors.New("Sender is required")
	case !riverjob.IsQueueName(d.Queue):
		return fmt.Errorf("Queue is %q, allowed are lower-case letters, digits and single _, - or | between them, at most %d", d.Queue, riverjob.MaxQueueName)
	case riverjob.IsReservedQueue(d.Queue):
		return fmt.Errorf("Queue %q is reserved", d.Queue)
	case d.Policy != outbox.AtLeastOnce && d.Policy != outbox.AtMostOnce:
		return fmt.Errorf("Policy is %q, allowed are %q and %q", d.Policy, outbox.AtLeastOnce, outbox.AtMostOnce)
	case !inRange(d.Concurrency, 1, maxQueueWorkers):
		return fmt.Errorf("Concurrency is %d, allowed are 1 to %d", d.Concurrency, maxQueueWorkers)
	case d.Rate < 0:
		return fmt.Errorf("Rate is %g, it must not be negative", d.Rate)
	case d.Burst < 1:
		return fmt.Errorf("Burst is %d, it must be at least 1", d.Burst)
	case d.Timeout <= 0:
		return fmt.Errorf("Timeout is %s, it must be positive", d.Timeout)
	case d.KeyTTL < 0:
		return fmt.Errorf("KeyTTL is %s, it must not be negative", d.KeyTTL)
	case d.OnStoredError != OnStoredErrorKeep && d.OnStoredError != OnStoredErrorNewKey:
		return fmt.Errorf("OnStoredError is %q, allowed are %q and %q", d.OnStoredError, OnStoredErrorKeep, OnStoredErrorNewKey)
	}
	var c option.Check
	c.Within("breaker", d.Breaker.Validate())
	c.Within("retry", d.Retry.Validate())
	return c.Err()
}

func inRange(n, low, high int) bool { return n >= low && n <= high }
