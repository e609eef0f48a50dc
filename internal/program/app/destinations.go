package app

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/worker"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/route"
)

// attemptSlack is the time by which the worker's timeout exceeds the destination's. The destination
// must time out first, because only the destination knows what was sent.
const attemptSlack = time.Second

// destinations contains all destinations, and separately the destinations whose secrets may change.
type destinations struct {
	list    []worker.DestinationOptions
	http    map[string]*renewableHTTP
	email   map[string]*renewableEmail
	brokers map[string]*renewableBroker
	tracers trace.TracerProvider
}

// destinationsOf creates the destinations of a configuration with their senders. It does not
// connect. Errors: config.Problems.
func destinationsOf(cfg *config.Config, tracers trace.TracerProvider) (*destinations, error) {
	made := &destinations{http: map[string]*renewableHTTP{}, email: map[string]*renewableEmail{}, brokers: map[string]*renewableBroker{}, tracers: tracers}
	hash := cfg.Hash()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(cfg.Destinations)) {
		d := cfg.Destinations[name]
		sender, err := made.sender(name, d)
		if err != nil {
			errs = append(errs, cfg.Problem("destinations."+name+"."+d.Kinds()[0], err.Error()))
			continue
		}
		one := d.DestinationOptions
		one.Name, one.Sender, one.ConfigHash = name, sender, hash
		one.Timeout += attemptSlack
		made.list = append(made.list, one)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	made.addAlarms(cfg)
	return made, nil
}

func (made *destinations) sender(name string, d config.Destination) (destination.Sender, error) {
	switch {
	case d.SMTP != nil:
		sender, err := made.newEmail(name, d)
		if err != nil {
			return nil, err
		}
		made.email[name] = &renewableEmail{}
		made.email[name].renew(sender)
		return made.email[name], nil
	case d.SQL != nil:
		o := *d.SQL
		o.Name, o.Timeout, o.TracerProvider = name, d.Timeout, made.tracers
		return destination.NewSQL(o)
	}
	if d.HTTP == nil {
		sender, err := made.newBroker(name, d)
		if err != nil {
			return nil, err
		}
		made.brokers[name] = &renewableBroker{}
		made.brokers[name].renew(sender)
		return made.brokers[name], nil
	}
	sender, err := made.newHTTP(name, d)
	if err != nil {
		return nil, err
	}
	made.http[name] = &renewableHTTP{}
	made.http[name].renew(sender)
	return made.http[name], nil
}

func (made *destinations) newEmail(name string, d config.Destination) (*destination.Email, error) {
	o := *d.SMTP
	o.Name, o.Timeout, o.AllowPrivate, o.TracerProvider = name, d.Timeout, d.AllowPrivate, made.tracers
	return destination.NewEmail(o)
}

func (made *destinations) newHTTP(name string, d config.Destination) (*destination.HTTP, error) {
	o := *d.HTTP
	o.Name, o.Timeout, o.AllowPrivate, o.RetryOn, o.TracerProvider = name, d.Timeout, d.AllowPrivate, d.RetryOn, made.tracers
	return destination.NewHTTP(o)
}

func (made *destinations) newBroker(name string, d config.Destination) (broker, error) {
	if d.NATS != nil {
		o := *d.NATS
		made.complete(name, d, &o.BrokerOptions)
		return destination.NewNATS(o)
	}
	o := *d.RabbitMQ
	made.complete(name, d, &o.BrokerOptions)
	return destination.NewRabbitMQ(o)
}

// complete sets the options that the broker's own section does not contain.
func (made *destinations) complete(name string, d config.Destination, o *destination.BrokerOptions) {
	o.Name, o.Timeout, o.AllowPrivate, o.TracerProvider = name, d.Timeout, d.AllowPrivate, made.tracers
}

// renewal creates senders with the secrets that another configuration has for the named
// destinations. It returns a function that makes new attempts use these senders, and that cannot
// fail. Errors: config.Problems.
func (made *destinations) renewal(cfg *config.Config, names []string) (func(), error) {
	var steps []func()
	for _, name := range names {
		d := cfg.Destinations[name]
		var err error
		if old := made.email[name]; old != nil {
			var next *destination.Email
			if next, err = made.newEmail(name, d); err == nil {
				steps = append(steps, func() { old.renew(next) })
			}
		} else if old := made.brokers[name]; old != nil {
			var next broker
			if next, err = made.newBroker(name, d); err == nil {
				steps = append(steps, func() { old.renew(next) })
			}
		} else if old := made.http[name]; old != nil {
			var next *destination.HTTP
			if next, err = made.newHTTP(name, d); err == nil {
				steps = append(steps, func() { old.renew(next) })
			}
		}
		if err != nil {
			return nil, cfg.Problem("destinations."+name+"."+d.Kinds()[0], err.Error())
		}
	}
	return func() {
		for _, step := range steps {
			step()
		}
	}, nil
}

// targets returns the destinations in the form that routes need.
func (made *destinations) targets() []route.Target {
	targets := make([]route.Target, 0, len(made.list))
	for _, d := range made.list {
		targets = append(targets, route.Target{Name: d.Name, Queue: d.Queue, Policy: d.Policy, Sender: d.Sender})
	}
	return targets
}

// close closes idle connections, and each connection to a broker as soon as no attempt uses it.
func (made *destinations) close(context.Context) error {
	var errs []error
	for _, one := range made.brokers {
		errs = append(errs, one.sender().Close())
	}
	for _, one := range made.http {
		errs = append(errs, one.close())
	}
	return errors.Join(errs...)
}
