package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/firstrun"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/find"
)

// devExample is the destination whose receiver does not respond to the first attempt of an effect.
// The destination is at_most_once, so the effect is parked.
const devExample = "example"

// These ids show that the events are examples. Routes of the dev configuration contain both ids.
const (
	exampleParked  = "evt_example_parked"
	exampleSkipped = "evt_example_skipped"
)

// example is a delivery that dev sends if its database has no events.
type example struct {
	source, eventType, id string
	times                 int
	forged                bool // signed with a wrong secret
}

// examples returns deliveries with different outcomes, so that the console has data to show.
func examples() []example {
	return []example{
		{source: "stripe", eventType: "invoice.paid", id: "evt_example_paid", times: 2}, // the second is a duplicate
		{source: "stripe", eventType: "charge.refunded", id: exampleParked, times: 1},
		{source: "stripe", eventType: "customer.updated", id: exampleSkipped, times: 1},
		{source: "shopify", eventType: "orders/create", id: "example_refused", times: 1, forged: true},
	}
}

// addExamples delivers the examples to a database without events, in the background. Examples need
// the demo receiver, so --forward omits them.
func (d *dev) addExamples(ctx context.Context, gateway string) {
	if d.forward != "" {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	d.teardown.Add("examples", devStopTimeout, func(context.Context) error {
		cancel()
		<-ended
		return nil
	})
	go func() {
		defer close(ended)
		if err := d.deliverExamples(ctx, gateway); err != nil && ctx.Err() == nil {
			d.logger.WarnContext(ctx, "the examples were not delivered", slog.Any(logkey.Err, err))
		}
	}()
}

func (d *dev) deliverExamples(ctx context.Context, gateway string) error {
	c := &cli{Process: d.Process, configPath: d.devConfig(), database: d.database}
	empty := false
	if err := c.withOutbox(ctx, func(o *outbox.Outbox) error {
		newest, err := o.Finder().Events(ctx, find.Events{}, find.Beginning, 1)
		empty = len(newest.Rows) == 0
		return err
	}); err != nil || !empty {
		return err
	}
	var errs []error
	for _, e := range examples() {
		if err := d.deliverExample(ctx, c, e, gateway); err != nil {
			errs = append(errs, fmt.Errorf("example %s: %w", e.id, err))
		}
	}
	return errors.Join(errs...)
}

func (d *dev) deliverExample(ctx context.Context, c *cli, e example, gateway string) error {
	s, err := c.newSender(e.source, sendOptions{url: "http://" + gateway, parallel: 1})
	if err != nil {
		return err
	}
	defer s.Close()
	if e.forged {
		d, err := catalog.Describe(e.source)
		if err != nil {
			return err
		}
		s.Key = firstrun.NewSecret(d)
	}
	event := s.Sample(e.eventType, e.id)
	for range e.times {
		if came := s.Deliver(ctx, event); came.Err != nil || !e.forged && came.Body != "" {
			return errors.Join(came.Err, errors.New(came.Body))
		}
	}
	return nil
}
