package app

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/admin"
	"github.com/hooklatch/hooklatch/cmd/hooklatch/config"
	"github.com/hooklatch/hooklatch/worker"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/route"
)

// attemptSlack lets the destination's own time-out, which knows what had been
// sent by then, end an attempt before the worker's.
const attemptSlack = time.Second

// destinations are where effects go, and how to close their connections.
type destinations struct {
	list    []worker.DestinationOptions
	closers []func() error
}

// destinationsOf makes the senders. It makes no connection.
func destinationsOf(cfg *config.Config, tracers trace.TracerProvider) (*destinations, error) {
	made := &destinations{}
	hash := cfg.Hash()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(cfg.Destinations)) {
		d := cfg.Destinations[name]
		sender, err := made.sender(name, d, tracers)
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
	return made, nil
}

func (made *destinations) sender(name string, d config.Destination, tracers trace.TracerProvider) (destination.Sender, error) {
	switch {
	case d.SMTP != nil:
		o := *d.SMTP
		o.Name, o.Timeout, o.AllowPrivate, o.TracerProvider = name, d.Timeout, d.AllowPrivate, tracers
		return destination.NewEmail(o)
	case d.SQL != nil:
		o := *d.SQL
		o.Name, o.Timeout, o.TracerProvider = name, d.Timeout, tracers
		return destination.NewSQL(o)
	}
	o := *d.HTTP
	o.Name, o.Timeout, o.AllowPrivate, o.RetryOn, o.TracerProvider = name, d.Timeout, d.AllowPrivate, d.RetryOn, tracers
	sender, err := destination.NewHTTP(o)
	if err != nil {
		return nil, err
	}
	made.closers = append(made.closers, sender.Close)
	return sender, nil
}

// targets are the destinations as routes see them.
func (made *destinations) targets() []route.Target {
	targets := make([]route.Target, 0, len(made.list))
	for _, d := range made.list {
		targets = append(targets, route.Target{Name: d.Name, Queue: d.Queue, Policy: d.Policy, Sender: d.Sender})
	}
	return targets
}

// close closes the connections that wait for a request.
func (made *destinations) close(context.Context) error {
	var errs []error
	for _, closeOne := range made.closers {
		errs = append(errs, closeOne())
	}
	return errors.Join(errs...)
}

// shownDestinations is what the status page lists, without query strings.
func shownDestinations(cfg *config.Config) []admin.Destination {
	var shown []admin.Destination
	for _, name := range slices.Sorted(maps.Keys(cfg.Destinations)) {
		d := cfg.Destinations[name]
		one := admin.Destination{Name: name, Kind: "http"}
		if d.SMTP != nil {
			one.Kind, one.Target = "email", net.JoinHostPort(d.SMTP.Host, strconv.Itoa(d.SMTP.Port))
		} else if d.SQL != nil {
			one.Kind, one.Target = "sql", strings.Join(slices.Sorted(maps.Keys(d.SQL.Statements)), ", ")
		} else if u, err := url.Parse(d.HTTP.URL); err == nil {
			u.User, u.RawQuery, u.Fragment = nil, "", ""
			one.Target = u.String()
		}
		shown = append(shown, one)
	}
	return shown
}
