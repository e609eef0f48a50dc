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

// DestinationOptions say of one destination how the worker reaches it, and how
// often.
type DestinationOptions struct {
	// Name is what routes and EnqueueTx call it. Required.
	Name string `yaml:"-"`
	// Sender makes the attempts. Required.
	Sender destination.Sender `yaml:"-"`
	// ConfigHash names the configuration the destination is from.
	ConfigHash string `yaml:"-"`
	// PollEvery is how often its queue is looked at for a job whose notification was
	// lost. Of destinations that share a queue the shortest counts. Defaults to a second.
	PollEvery time.Duration `yaml:"-"`

	// Attempts in progress at once, in one process. Defaults to 10.
	Concurrency int `yaml:"concurrency,omitempty"`
	// Most attempts started in a second, minute or hour, in all processes
	// together, which should agree on it, like 50/s. With a rate, no more run at
	// once in one process than ten seconds' worth. Defaults to no limit.
	Rate rate.PerSecond `yaml:"rate,omitempty"`
	// Attempts that may start at once after a pause, when there is a rate.
	// Defaults to one second's worth, and at least 1.
	Burst int `yaml:"burst,omitempty"`
	// How long one attempt may take. The longest of all destinations decides
	// after how long a job counts as stuck. Defaults to that of the sender, which
	// is 15s where nothing else is said.
	Timeout time.Duration `yaml:"timeout,omitempty"`
	// What happens to an effect that may have been applied: at_least_once tries
	// again with the same key and body, at_most_once parks it for a person.
	// Defaults to at_least_once.
	Policy ledger.Policy `yaml:"policy,omitempty"`
	// When a failed attempt is repeated.
	Retry destination.Schedule `yaml:"retry,omitempty"`
	// How long the receiver remembers idempotency keys, like 24h. An effect that
	// was in doubt for longer is parked, because its key protects it no more.
	// Defaults to forever.
	KeyTTL time.Duration `yaml:"key_ttl,omitempty"`
	// What follows when the receiver only replays the error it had stored for a
	// key: keep tries again under the same key, new_key under another one.
	// Defaults to keep.
	OnStoredError OnStoredError `yaml:"on_stored_error,omitempty"`
	// When the destination counts as down and is paused.
	Breaker lane.Breaker `yaml:"breaker,omitempty"`
	// River queue of the effects; destinations that name the same one share it:
	// lower-case letters and digits with single _, - or | between them, at most
	// 64. Defaults to dst_ and the name of the destination; where more than 32
	// destinations name none, to one of 32 shared queues chosen by the name.
	Queue string `yaml:"queue,omitempty"`
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

// WithDefaults returns a copy in which what was left out has its default, but
// for the queue, which depends on the other destinations.
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

// Validate finds what is wrong with a destination that has its defaults, but for
// its name and its sender. Its error is option.Faults.
func (d DestinationOptions) Validate() error {
	var c option.Check
	c.AtLeast("concurrency", int64(d.Concurrency), 1)
	c.AtMost("concurrency", int64(d.Concurrency), maxQueueWorkers)
	if d.Rate < 0 {
		c.Failf("rate", float64(d.Rate), "is too small; it must be at least 0, which is no limit")
	}
	c.AtLeast("burst", int64(d.Burst), 0)
	if d.Burst > 0 && d.Rate == 0 {
		c.Failf("burst", d.Burst, "means nothing without a rate; give one, like rate: 50/s")
	}
	c.Positive("timeout", d.Timeout)
	c.OneOf("policy", "policy", string(d.Policy), string(ledger.AtLeastOnce), string(ledger.AtMostOnce))
	c.Within("retry", d.Retry.Validate())
	c.NotNegative("key_ttl", d.KeyTTL)
	c.OneOf("on_stored_error", "way to go on", string(d.OnStoredError), string(OnStoredErrorKeep), string(OnStoredErrorNewKey))
	c.Within("breaker", d.Breaker.Validate())
	switch {
	case d.Queue == "":
	case !riverjob.IsQueueName(d.Queue):
		c.Failf("queue", d.Queue, "is not a queue name; allowed: lower-case letters and digits with single _, - or | between them, at most %d", riverjob.MaxQueueName)
	case riverjob.IsReservedQueue(d.Queue):
		c.Failf("queue", d.Queue, "is a queue with another purpose")
	}
	return c.Err()
}

// refetchSlack is what an attempt may take beside the call to read the current
// state of its object.
const refetchSlack = 5 * time.Second

// lease is how long an attempt holds its effect: reading the current state, the
// call and its settlement.
func (d DestinationOptions) lease() time.Duration { return refetchSlack + d.Timeout + ledgerSlack }

// limits are those of its lane.
func (d DestinationOptions) limits() lane.Options {
	return lane.Options{Name: d.Name, Concurrency: d.Concurrency, Rate: d.Rate, Burst: d.Burst, Breaker: d.Breaker}
}

// served is a destination that this process serves: its options, and the lane that its
// attempts take.
type served struct {
	DestinationOptions
	*lane.Lane
}

// serve returns d with a lane of its own.
func serve(d DestinationOptions, take lane.Take) *served {
	return &served{d, lane.New(d.limits(), take)}
}

// openLanes are the lanes of all destinations.
func (w *Worker) openLanes() []*lane.Lane {
	list := make([]*lane.Lane, 0, len(w.lanes))
	for _, d := range w.lanes {
		list = append(list, d.Lane)
	}
	return list
}
