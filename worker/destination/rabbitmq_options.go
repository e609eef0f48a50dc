package destination

import (
	"cmp"

	"github.com/hooklatch/hooklatch/internal/option"
)

// maxShortText is the maximum length of names, keys and properties in AMQP 0-9-1, in bytes.
const maxShortText = 255

// RabbitMQOptions configure the exchange of RabbitMQ for effects of kind "rabbitmq". A username is
// required.
type RabbitMQOptions struct {
	BrokerOptions `yaml:",inline"`

	// Exchange that receives the messages. It must exist. Defaults to RabbitMQ's default exchange,
	// whose routing keys are names of queues.
	Exchange string `yaml:"exchange,omitempty"`
	// Routing key of messages whose route does not set one. Required without an exchange.
	RoutingKey string `yaml:"routing_key,omitempty"`
	// Virtual host of the exchange. Defaults to /.
	VHost string `yaml:"vhost,omitempty"`
}

// WithDefaults returns a copy with the defaults filled in.
func (o RabbitMQOptions) WithDefaults() RabbitMQOptions {
	port := 5672
	if o.TLS {
		port = 5671
	}
	o.BrokerOptions = o.withDefaults(port)
	o.VHost = cmp.Or(o.VHost, "/")
	return o
}

// Validate checks options whose defaults are filled in. Its error is option.Faults.
func (o RabbitMQOptions) Validate() error {
	var c option.Check
	o.check(&c)
	if o.Username == "" && o.Password.IsZero() {
		c.Missing("username", "has no username")
	}
	if o.Exchange == "" && o.RoutingKey == "" {
		c.Missing("routing_key", "has no exchange and no routing_key; give the name of a queue as routing_key, or an exchange")
	}
	for _, text := range []struct{ field, value string }{{"exchange", o.Exchange}, {"routing_key", o.RoutingKey}, {"vhost", o.VHost}} {
		if len(text.value) > maxShortText {
			c.Failf(text.field, nil, "is too long; it must be at most %d bytes", maxShortText)
		}
	}
	return c.Err()
}
