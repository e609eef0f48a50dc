package engine

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"go.opentelemetry.io/otel/metric/noop"
	"golang.org/x/sync/errgroup"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema"
)

// migrations creates Hooklatch's tables. The experiments after it use them.
func migrations(t *trial) {
	migrator, err := schema.NewMigrator(t.pool, t.schema, nil)
	t.require(err)
	_, err = migrator.Up(t.ctx)
	t.require(err)
}

// accept lets two outboxes accept the same events simultaneously, like two processes.
func accept(t *trial) {
	var boxes [2]*outbox.Outbox
	var statuses [len(boxes)][100]outbox.AcceptStatus
	var senders errgroup.Group
	for b := range boxes {
		box, err := outbox.New(outbox.Options{Pool: t.pool, Schema: t.schema, PollOnly: true, AcceptTimeout: patienceForOne, MeterProvider: noop.NewMeterProvider()})
		t.require(err)
		defer func() { _ = box.Stop(t.ctx) }() //nolint:gocritic // two boxes, used until the end
		boxes[b] = box
	}
	for i := range statuses[0] {
		for b, box := range boxes {
			senders.Go(func() error {
				id := identity.EventID(fmt.Sprintf("event %d", i))
				came, err := box.Accept(t.ctx, outbox.Delivery{Source: "engine", Body: []byte(id), Events: []outbox.Incoming{{ID: id, Type: "test"}}})
				if err == nil {
					statuses[b][i] = came.Events[0].Status
				}
				return err
			})
		}
	}
	t.require(senders.Wait())
	for i := range statuses[0] {
		accepted := 0
		for b := range boxes {
			if statuses[b][i] == outbox.Accepted {
				accepted++
			}
		}
		expect(t, "how often an event was accepted", accepted, 1)
	}
}

type trialArgs struct{}

func (trialArgs) Kind() string { return "engine.trial" }

// jobs makes River insert, fetch and complete a job.
func jobs(t *trial) {
	const queue = "engine_trial"
	worked := make(chan struct{}, 1)
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(context.Context, *river.Job[trialArgs]) error {
		worked <- struct{}{}
		return nil
	}))
	client, err := river.NewClient(riverpgxv5.New(t.pool), &river.Config{
		Schema: string(t.schema), PollOnly: true, Queues: map[string]river.QueueConfig{queue: {MaxWorkers: 1}}, Workers: workers,
		Logger: slog.New(slog.DiscardHandler),
	})
	t.require(err)
	_, err = client.Insert(t.ctx, trialArgs{}, &river.InsertOpts{Queue: queue, UniqueOpts: river.UniqueOpts{ByArgs: true}})
	t.require(err)
	t.require(client.Start(t.ctx))
	defer func() { _ = client.StopAndCancel(t.ctx) }() // in case the experiment fails before Stop
	select {
	case <-worked:
		t.require(client.Stop(t.ctx)) // Stop returns after River has stored the outcome
	case <-t.ctx.Done():
		t.require(t.ctx.Err())
	}
	expect(t, "state of a completed job", value[string](t.open(), "SELECT state::text FROM hooklatch.river_job WHERE queue = '"+queue+"'"), "completed")
}
