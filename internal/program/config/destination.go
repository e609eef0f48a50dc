package config

import (
	"cmp"
	"net/netip"
	"strings"

	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/worker"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/lane"
)

// Destination configures a receiver of effects: exactly one of the fields up to DestinationOptions
// is set.
type Destination struct {
	// Sends effects as HTTP requests. Exactly one of http, smtp, sql, nats and rabbitmq must be
	// given.
	HTTP *destination.HTTPOptions `yaml:"http,omitempty"`
	// Sends effects as emails.
	SMTP *destination.EmailOptions `yaml:"smtp,omitempty"`
	// Runs effects as statements in the same Postgres, exactly once.
	SQL *destination.SQLOptions `yaml:"sql,omitempty"`
	// Publishes effects to a stream of NATS JetStream.
	NATS *destination.NATSOptions `yaml:"nats,omitempty"`
	// Publishes effects to an exchange of RabbitMQ.
	RabbitMQ *destination.RabbitMQOptions `yaml:"rabbitmq,omitempty"`

	worker.DestinationOptions `yaml:",inline"`

	// Statuses after which an HTTP request counts as not applied and is sent again, on the schedule
	// of retry. Allowed are 400 to 499 except 408, 409, 425 and 429, which have their own meaning;
	// with at_most_once only 401, 407 and 421. If the last attempt gets such a status, the effect
	// has failed. [] means none. Defaults to 401, 403, 404, 407, 421, 423; with at_most_once 401,
	// 407, 421.
	RetryOn []int `yaml:"retry_on,omitempty"`
	// Team that owns this destination. Alerts about the destination go to this team, and
	// `status --team` selects by it. Defaults to no team.
	Team string `yaml:"team,omitempty"`
	// Private networks to which connections are allowed. A literal address or localhost in url,
	// host or servers needs no entry. A cloud's metadata service needs its own entry, such as
	// 169.254.169.254/32. Defaults to none.
	AllowPrivate []netip.Prefix `yaml:"allow_private,omitempty"`
}

// target is one way to send effects.
type target struct {
	field string // key in the file
	kind  string // kind of the sender
	given bool
}

func (dest Destination) targets() []target {
	return []target{
		{"http", destination.KindHTTP, dest.HTTP != nil},
		{"smtp", destination.KindEmail, dest.SMTP != nil},
		{"sql", destination.KindSQL, dest.SQL != nil},
		{"nats", destination.KindNATS, dest.NATS != nil},
		{"rabbitmq", destination.KindRabbitMQ, dest.RabbitMQ != nil},
	}
}

// Kinds returns the keys of the given targets: exactly one in a valid configuration.
func (dest Destination) Kinds() []string {
	var fields []string
	for _, t := range dest.targets() {
		if t.given {
			fields = append(fields, t.field)
		}
	}
	return fields
}

// kind returns the kind of the destination's sender, or "" if the configuration is not valid.
func (dest Destination) kind() string {
	kind := ""
	for _, t := range dest.targets() {
		switch {
		case t.given && kind != "":
			return ""
		case t.given:
			kind = t.kind
		}
	}
	return kind
}

func (dest Destination) withDefaults() Destination {
	off := dest.Breaker.Off
	if dest.HTTP != nil {
		dest.Rate = cmp.Or(dest.Rate, dest.HTTP.UsualRate())
	}
	dest.DestinationOptions = dest.DestinationOptions.WithDefaults()
	if off {
		dest.Breaker = lane.Breaker{Off: true} // the other fields have no effect
	}
	if dest.HTTP != nil {
		if dest.RetryOn == nil {
			dest.RetryOn = destination.DefaultRetryOn(dest.Policy)
		}
		dest.HTTP = new(dest.HTTP.WithDefaults())
	}
	if dest.SMTP != nil {
		dest.SMTP = new(dest.SMTP.WithDefaults())
		dest.SMTP.AllowPlaintext = true // in a file, tls: none is enough to allow plaintext
	}
	if dest.SQL != nil {
		dest.SQL = new(dest.SQL.WithDefaults())
	}
	if dest.NATS != nil {
		dest.NATS = new(dest.NATS.WithDefaults())
	}
	if dest.RabbitMQ != nil {
		dest.RabbitMQ = new(dest.RabbitMQ.WithDefaults())
	}
	return dest
}

func (dest Destination) validate(name string) error {
	var c option.Check
	c.Name("", name)
	switch kinds := dest.Kinds(); len(kinds) {
	case 0:
		c.Missing("http", "has no target; exactly one of http, smtp, sql, nats and rabbitmq must be given")
	case 1:
	default:
		c.Failf("", nil, "has %s; exactly one must be given", strings.Join(kinds, " and "))
	}
	if dest.HTTP != nil {
		c.Within("http", dest.HTTP.Validate())
		c.Within("retry_on", destination.CheckRetryOn(dest.Policy, dest.RetryOn))
	} else if dest.RetryOn != nil {
		c.Failf("retry_on", nil, "has no effect without http; only HTTP responses have these statuses")
	}
	if dest.SMTP != nil {
		c.Within("smtp", dest.SMTP.Validate())
	}
	if dest.SQL != nil {
		c.Within("sql", dest.SQL.Validate())
	}
	if dest.NATS != nil {
		c.Within("nats", dest.NATS.Validate())
	}
	if dest.RabbitMQ != nil {
		c.Within("rabbitmq", dest.RabbitMQ.Validate())
	}
	c.Within("", dest.DestinationOptions.Validate())
	c.Within("allow_private", destination.CheckAllowPrivate(dest.AllowPrivate))
	return c.Err()
}
