package worker

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// nearPlanner plans the events that this process accepts. T1 then creates their effects, with no
// dispatch job, fetch or T2 in between. An event gets a dispatch job instead if this process is
// stopping, does not have the event's source, or leaves that source to handlers. It also gets a job
// if the plans of its source are slow, or if its plan has an error.
type nearPlanner struct {
	dispatch *dispatchWorker
	slow     slowPlans
	stopped  atomic.Bool
}

var _ outbox.Planner = (*nearPlanner)(nil)

// Free implements outbox.Planner.
func (n *nearPlanner) Free() bool { return !n.stopped.Load() }

// Plan implements outbox.Planner.
func (n *nearPlanner) Plan(ctx context.Context, e *inbox.Event) (planned *outbox.Planned) {
	d := n.dispatch
	run := dispatchRun{
		job: &river.Job[dispatchArgs]{JobRow: &rivertype.JobRow{
			Kind: riverjob.KindDispatch, Queue: riverjob.QueueDispatch, Attempt: 1, MaxAttempts: riverjob.MaxDispatchAttempts,
		}},
		routing: d.routing.Load(), started: time.Now(),
	}
	if !run.routing.has(string(e.Source)) || run.routing.table.LeavesToHandlers(e.Source) || !n.slow.planNow(e.Source) {
		return nil
	}
	defer func() { n.slow.note(e.Source, time.Since(run.started)) }()
	ctx, span := d.startSpan(ctx, run, e)
	defer func() {
		if v := recover(); v != nil { // the event's job plans it again, and records the panic
			endSpan(span, outcomeError, newPanicError(v))
			planned = nil
		}
	}()
	plan, err := d.plan(ctx, run, e)
	if err != nil {
		endSpan(span, outcomeError, err)
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	born := d.births.expect(e, plan.Effects)
	ended := d.running.begin(riverjob.KindDispatch)
	return &outbox.Planned{Dispatch: plan, End: func(dispatched outbox.Dispatched, err error) {
		defer ended()
		born.begin(ctx, dispatched, err)
		born.giveBack()
		switch {
		case err != nil:
			endSpan(span, outcomeError, err) // not accepted: the provider delivers the event again
		case dispatched.Fenced:
			d.telemetry.tally.planned(plan.Effects, dispatched)
			d.logParked(ctx, run, plan, dispatched)
			endSpan(span, string(dispatched.Outcome), nil)
			d.tell(ctx, run, e, dispatched, string(dispatched.Outcome), nil)
		default:
			endSpan(span, outcomeLeft, nil)
		}
	}}
}

// stop makes Free return false. Events that are already planned are committed with their plans.
func (n *nearPlanner) stop() { n.stopped.Store(true) }
