package worker

import (
	"cmp"
	"time"

	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/internal/rate"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/lane"
)

// DestinationOptions configure how, and how often, the worker reaches a destination.
type DestinationOptions struct {
	// Name is the name of the destination in routes and EnqueueTx. Required.
	Name string `yaml:"-"`
	// Sender makes the attempts. Required.
	Sender destination.Sender `yaml:"-"`
	// ConfigHash identifies the destination's configuration.
	ConfigHash string `yaml:"-"`
	// PollEvery is the interval at which the queue is polled for jobs whose notification was lost.
	// Defaults to a second, or to 150 ms with Options.PollOnly. If destinations share a queue, the
	// default applies if one of them sets no interval, otherwise the shortest interval.
	PollEvery time.Duration `yaml:"-"`

	// Maximum number of simultaneous calls in one process. Defaults to 10.
	Concurrency int `yaml:"concurrency,omitempty"`
	// Maximum rate at which all processes together start attempts, such as 50/s. Give all processes
	// the same rate. With a rate, one process runs at most ten seconds' worth of attempts
	// simultaneously. Defaults to no limit.
	Rate rate.PerSecond `yaml:"rate,omitempty"`
	// Maximum number of attempts that may start immediately after a pause, if there is a rate.
	// Defaults to one second's worth of attempts, but at least 1.
	Burst int `yaml:"burst,omitempty"`
	// Maximum duration of one attempt. The longest timeout of all destinations determines when a
	// job counts as stuck. Defaults to 15s, unless the kind of destination has its own default.
	Timeout time.Duration `yaml:"timeout,omitempty"`
	// Policy for an effect that may have been applied. at_least_once retries the effect with the
	// same key and body; at_most_once parks the effect for an operator. Defaults to at_least_once.
	Policy ledger.Policy `yaml:"policy,omitempty"`
	// Schedule of retries.
	Retry destination.Schedule `yaml:"retry,omitempty"`
	// Time for which the receiver remembers idempotency keys, such as 24h. An effect that was in doubt
	// for longer is parked, because its key no longer protects it. Defaults to forever.
	KeyTTL time.Duration `yaml:"key_ttl,omitempty"`
	// Reaction to a receiver that only replays the error it stored for a key: keep tries again
	// under the same key, new_key under another key. Defaults to keep.
	OnStoredError OnStoredError `yaml:"on_stored_error,omitempty"`
	// Conditions under which the destination counts as down and is paused.
	Breaker lane.Breaker `yaml:"breaker,omitempty"`
	// River queue of the effects. Destinations that name the same queue share it. The name has
	// lower-case letters and digits with single _, - or | between them, at most 64 characters.
	// Defaults to dst_ and the name of the destination; if more than 32 destinations set no queue,
	// one of 32 shared queues, chosen by the name.
	Queue string `yaml:"queue,omitempty"`
}

// OnStoredError is the reaction to a receiver that does not process a repeated request, but replays
// the server error it stored for the key.
type OnStoredError string

// Reactions to a stored error.
const (
	// OnStoredErrorKeep tries again under the same key, until the attempts are used up or the
	// receiver forgets the key.
	OnStoredErrorKeep OnStoredError = "keep"
	// OnStoredErrorNewKey tries again under another key, which the ledger records. Everything
	// the failed request did is done again.
	OnStoredErrorNewKey OnStoredError = "new_key"
)

// WithDefaults returns a copy with the defaults filled in, except for the queue, whose default
// depends on the other destinations.
func (d DestinationOptions) WithDefaults() DestinationOptions {
	d.Concurrency = cmp.Or(d.Concurrency, 10)
	if d.Rate > 0 {
		d.Burst = cmp.Or(d.Burst, max(1, int(d.Rate)))
	}
	if sender, ok := d.Sender.(destination.TimeLimited); ok {
		d.Timeout = cmp.Or(d.Timeout, sender.Timeout())
	}
	d.Timeout = cmp.Or(d.Timeout, destination.DefaultTimeout)
	d.Policy = cmp.Or(d.Policy, ledger.AtLeastOnce)
	d.Retry = d.Retry.WithDefaults()
	d.OnStoredError = cmp.Or(d.OnStoredError, OnStoredErrorKeep)
	d.Breaker = d.Breaker.WithDefaults()
	return d
}

// Validate checks the options that a configuration can set. Callers call WithDefaults first. The
// error is option.Faults.
func (d DestinationOptions) Validate() error {
	var c option.Check
	c.AtLeast("concurrency", int64(d.Concurrency), 1)
	c.AtMost("concurrency", int64(d.Concurrency), maxQueueWorkers)
	if d.Rate < 0 {
		c.Failf("rate", float64(d.Rate), "is too small; it must be at least 0 (no limit)")
	}
	c.AtLeast("burst", int64(d.Burst), 0)
	if d.Burst > 0 && d.Rate == 0 {
		c.Failf("burst", d.Burst, "has no effect without a rate; set one, such as rate: 50/s")
	}
	c.Positive("timeout", d.Timeout)
	c.OneOf("policy", "policy", string(d.Policy), string(ledger.AtLeastOnce), string(ledger.AtMostOnce))
	c.Within("retry", d.Retry.Validate())
	c.NotNegative("key_ttl", d.KeyTTL)
	c.OneOf("on_stored_error", "way to continue", string(d.OnStoredError), string(OnStoredErrorKeep), string(OnStoredErrorNewKey))
	c.Within("breaker", d.Breaker.Validate())
	switch {
	case d.Queue == "":
	case !riverjob.IsQueueName(d.Queue):
		c.Failf("queue", d.Queue, "is not a queue name; allowed: lower-case letters and digits with single _, - or | between them, at most %d", riverjob.MaxQueueName)
	case riverjob.IsReservedQueue(d.Queue):
		c.Failf("queue", d.Queue, "is reserved for another purpose")
	}
	return c.Err()
}

// refetchSlack is the extra time that an attempt may take to read the current state of its object.
const refetchSlack = 5 * time.Second

// lease returns the maximum time that an attempt holds its effect: refetch, call and settlement.
func (d DestinationOptions) lease() time.Duration { return refetchSlack + d.Timeout + ledgerSlack }

// limits returns the options for the destination's lane.
func (d DestinationOptions) limits() lane.Options {
	return lane.Options{Name: d.Name, Concurrency: d.Concurrency, Rate: d.Rate, Burst: d.Burst, Hold: d.lease(), Breaker: d.Breaker}
}

// served is a destination that this process serves, with the lane for its attempts.
type served struct {
	DestinationOptions
	*lane.Lane
}

// serve returns d with a new lane.
func serve(d DestinationOptions, take lane.Take) *served {
	return &served{d, lane.New(d.limits(), take)}
}

// openLanes returns the lanes of all destinations.
func (w *Worker) openLanes() []*lane.Lane {
	list := make([]*lane.Lane, 0, len(w.lanes))
	for _, d := range w.lanes {
		list = append(list, d.Lane)
	}
	return list
}
