package config

import (
	"cmp"
	"net/netip"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/option"
	"github.com/hooklatch/hooklatch/outbox/riverjob"
	"github.com/hooklatch/hooklatch/worker"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// Destination is where effects go: exactly one of HTTP, SMTP and SQL is set.
type Destination struct {
	// Sends effects as HTTP requests. Exactly one of http, smtp and sql is given.
	HTTP *destination.HTTPOptions `yaml:"http,omitempty"`
	// Sends effects as e-mails.
	SMTP *destination.EmailOptions `yaml:"smtp,omitempty"`
	// Runs effects as statements in the same Postgres, exactly once.
	SQL *destination.SQLOptions `yaml:"sql,omitempty"`
	// Attempts in progress at once, in one process. Defaults to 10.
	Concurrency int `yaml:"concurrency,omitempty"`
	// Most attempts started in a second, minute or hour, in all processes
	// together, like 50/s. Defaults to no limit.
	Rate destination.Rate `yaml:"rate,omitempty"`
	// Attempts that may start at once after a pause, when there is a rate.
	// Defaults to one second's worth, and at least 1.
	Burst int `yaml:"burst,omitempty"`
	// How long one attempt may take. The longest of all destinations decides
	// after how long a job counts as stuck. Defaults to 15s.
	Timeout time.Duration `yaml:"timeout,omitempty"`
	// What happens to an effect that may have been applied: at_least_once tries
	// again with the same key and body, at_most_once parks it for a person.
	// Defaults to at_least_once.
	Policy outbox.Policy `yaml:"policy,omitempty"`
	// When a failed attempt is repeated.
	Retry destination.Schedule `yaml:"retry,omitempty"`
	// Statuses after which an HTTP request counts as not applied and is made
	// again, on the schedule of retry: 400 to 499 without 408, 409, 425 and 429,
	// which have a meaning of their own; with at_most_once only 401, 407 and 421.
	// An effect that ends on one has failed. [] means none. Defaults to 401, 403,
	// 404, 407, 421, 423; with at_most_once to 401, 407, 421.
	RetryOn []int `yaml:"retry_on,omitempty"`
	// How long the receiver remembers idempotency keys, like 24h. An effect that
	// was in doubt for longer is parked, because its key protects it no more.
	// Defaults to for ever.
	KeyTTL time.Duration `yaml:"key_ttl,omitempty"`
	// What follows when the receiver only replays the error it had stored for a
	// key: keep tries again under the same key, new_key under another one.
	// Defaults to keep.
	OnStoredError worker.OnStoredError `yaml:"on_stored_error,omitempty"`
	// When the destination counts as down and is paused.
	Breaker worker.Breaker `yaml:"breaker,omitempty"`
	// Networks that are not public and may be reached all the same. The literal
	// address or localhost that url names needs no permission; the metadata
	// service of a cloud needs an entry of its own, like 169.254.169.254/32.
	// Defaults to none.
	AllowPrivate []netip.Prefix `yaml:"allow_private,omitempty"`
	// River queue of the effects; destinations that name the same one share it.
	// Defaults to dst_ and the name of the destination.
	Queue string `yaml:"queue,omitempty"`
}

// Kinds are the keys of the destination that say where to go: one, where the
// configuration is right.
func (dest Destination) Kinds() []string {
	var kinds []string
	if dest.HTTP != nil {
		kinds = append(kinds, "http")
	}
	if dest.SMTP != nil {
		kinds = append(kinds, "smtp")
	}
	if dest.SQL != nil {
		kinds = append(kinds, "sql")
	}
	return kinds
}

func (dest Destination) withDefaults() Destination {
	dest.Concurrency = cmp.Or(dest.Concurrency, 10)
	dest.Timeout = cmp.Or(dest.Timeout, destination.DefaultTimeout)
	dest.Policy = cmp.Or(dest.Policy, outbox.AtLeastOnce)
	dest.Retry = dest.Retry.WithDefaults()
	dest.OnStoredError = cmp.Or(dest.OnStoredError, worker.OnStoredErrorKeep)
	if !dest.Breaker.Off {
		dest.Breaker = dest.Breaker.WithDefaults()
	}
	if dest.HTTP != nil {
		if dest.RetryOn == nil {
			dest.RetryOn = destination.DefaultRetryOn(dest.Policy)
		}
		dest.HTTP = new(dest.HTTP.WithDefaults())
	}
	if dest.SMTP != nil {
		dest.SMTP = new(dest.SMTP.WithDefaults())
		dest.SMTP.AllowPlaintext = true // tls: none says it
	}
	if dest.SQL != nil {
		dest.SQL = new(dest.SQL.WithDefaults())
	}
	return dest
}

func (dest Destination) validate(name string) error {
	var c option.Check
	c.Name("", name)
	switch kinds := dest.Kinds(); len(kinds) {
	case 0:
		c.Missing("http", "says nowhere to go; exactly one of http, smtp and sql must be given")
	case 1:
	default:
		c.Fail("", nil, "has %s; exactly one of them must be given", strings.Join(kinds, " and "))
	}
	if dest.HTTP != nil {
		c.Within("http", dest.HTTP.Validate())
		c.Within("retry_on", destination.CheckRetryOn(dest.Policy, dest.RetryOn))
	} else if dest.RetryOn != nil {
		c.Fail("retry_on", nil, "means nothing without http; only its answers have these statuses")
	}
	if dest.SMTP != nil {
		c.Within("smtp", dest.SMTP.Validate())
	}
	if dest.SQL != nil {
		c.Within("sql", dest.SQL.Validate())
	}
	c.AtLeast("concurrency", int64(dest.Concurrency), 1)
	c.AtLeast("burst", int64(dest.Burst), 0)
	if dest.Burst > 0 && dest.Rate.IsZero() {
		c.Fail("burst", dest.Burst, "means nothing without a rate; give one, like rate: 50/s")
	}
	c.Positive("timeout", dest.Timeout)
	c.OneOf("policy", "policy", string(dest.Policy), policies...)
	c.Within("retry", dest.Retry.Validate())
	c.NotNegative("key_ttl", dest.KeyTTL)
	c.OneOf("on_stored_error", "way to go on", string(dest.OnStoredError), onStoredErrors...)
	c.Within("breaker", dest.Breaker.Validate())
	c.Within("allow_private", destination.CheckAllowPrivate(dest.AllowPrivate))
	switch {
	case dest.Queue == "":
	case !riverjob.IsQueueName(dest.Queue):
		c.Fail("queue", dest.Queue, "is not a queue name; allowed: lower-case letters and digits with single _, - or | between them, at most %d", riverjob.MaxQueueName)
	case riverjob.IsReservedQueue(dest.Queue):
		c.Fail("queue", dest.Queue, "is a queue with another purpose")
	}
	return c.Err()
}
