package outbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/failpoint"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Limits of the events that T1 plans in one transaction. Events beyond these limits get jobs,
// because a sender waits for T1 but not for T2.
const (
	maxPlannedBody  = 64 << 10 // bytes of a delivery's body
	maxPlannedItems = 256      // events and their effects in a batch
	maxPlannedBytes = 1 << 20  // bytes of request bodies and search values in a batch
	// planTimeout limits the planning of a batch. A plan takes a fraction of a millisecond.
	planTimeout = 500 * time.Millisecond
)

// Planner plans events in the process that accepts them. T1 then also creates their effects. These
// events need no dispatch job and no T2. A worker.Worker passes its Planner to PlanWith.
type Planner interface {
	// Free reports whether the process plans events now.
	Free() bool
	// Plan returns the plan of an event that T1 is about to store, or nil if the event's job must
	// create the plan. The event has no AcceptSeq yet. Plan returns early when ctx ends.
	Plan(ctx context.Context, e *inbox.Event) *Planned
}

// Planned is a plan that T1 commits with its event.
type Planned struct {
	Dispatch
	// End is called once, after the last transaction that may contain the plan has ended. If err is
	// commit.ErrUnavailable, the outcome may be unknown. End must not block.
	End func(d Dispatched, err error)
}

// PlanWith makes this process plan the delivered events that it accepts. Without a Planner, every
// event waits for a process that fetches its job.
func (o *Outbox) PlanWith(p Planner) { o.planner.Store(&p) }

// arrivalPlans are the plans of an arrival's events. T1 makes each plan once. Later tries use the
// same plan, because an earlier try may have committed the plan's claims.
type arrivalPlans struct {
	planner Planner
	cameAt  time.Time          // receipt time by the database's clock, read in the first try
	of      map[int]*Planned   // by index of the event; nil: the event's job creates the plan
	results map[int]Dispatched // results of the latest try; zero: an earlier try may have committed the plan
	dropped bool               // T1 could not create the effects of these plans, so the jobs create all plans
}

// plansFor returns an empty set of plans, which T1 fills, or nil if jobs create the plans. Fetched
// events always get jobs, which are queued behind the jobs of delivered events.
func (o *Outbox) plansFor(a arrival) *arrivalPlans {
	p := o.planner.Load()
	if p == nil || a.queue != riverjob.QueueDispatch || a.Origin != identity.Webhook || len(a.Body) > maxPlannedBody || !(*p).Free() {
		return nil
	}
	return &arrivalPlans{planner: *p, of: map[int]*Planned{}, results: map[int]Dispatched{}}
}

// drop leaves the plans out of all later tries.
func (p *arrivalPlans) drop() {
	p.dropped = true
	clear(p.results)
}

// usable reports whether this try of T1 may commit the plans.
func (p *arrivalPlans) usable() bool { return p != nil && !p.dropped }

// end reports the outcome to every plan.
func (p *arrivalPlans) end(err error) {
	if p == nil {
		return
	}
	for i, planned := range p.of {
		if planned == nil {
			continue
		}
		result := p.results[i]
		if err != nil {
			result = Dispatched{}
		}
		planned.End(result, err)
	}
}

// end releases the delivery and reports the outcome to every plan. It is called when no transaction
// contains the arrival any more. err is nil if the arrival is committed.
func (a arrival) end(err error) {
	a.release()
	a.plans.end(err)
}

// planEvents plans the new events of the batch that this process may plan.
func (o *Outbox) planEvents(ctx context.Context, tx pgx.Tx, rows *acceptRows, batch []arrival) error {
	for _, a := range batch {
		if a.plans != nil {
			clear(a.plans.results)
		}
	}
	items, size := 0, 0
	var now time.Time
	planning, cancel := context.WithTimeout(ctx, o.planTimeout)
	defer cancel()
	for i, row := range rows.events {
		at := rows.at[i]
		a := batch[at.arrival]
		if !a.plans.usable() || row.Held || items >= maxPlannedItems || size >= maxPlannedBytes {
			continue
		}
		if a.plans.cameAt.IsZero() && now.IsZero() {
			if err := o.sql.ReceiptTime.QueryRow(ctx, tx).Scan(&now); err != nil {
				return fmt.Errorf("query the database's clock: %w", err)
			}
		}
		if a.plans.cameAt.IsZero() {
			a.plans.cameAt = now
		}
		planned, made := a.plans.of[at.event]
		if !made && planning.Err() == nil {
			planned = a.planOf(planning, row)
			a.plans.of[at.event] = planned
		}
		if planned == nil {
			continue
		}
		if rows.planned == nil {
			rows.planWith(batch)
		}
		rows.planned[i].of(planned.Dispatch)
		rows.by = append(rows.by, planned.Configuration)
		n, weight := planned.weigh()
		items, size = items+n, size+weight
	}
	return nil
}

// planOf returns the plan of an event, or nil if the event's job creates the plan.
func (a arrival) planOf(ctx context.Context, row eventRow) *Planned {
	e := &inbox.Event{
		EventRef: row.EventRef, Provider: row.Provider, Type: row.EventType, APIVersion: row.APIVersion,
		OccurredAt: column.OrZero(row.OccurredAt).Truncate(time.Microsecond), ReceivedAt: a.plans.cameAt,
		AcceptanceID: row.AcceptanceID, DeliveryID: row.DeliveryID, Item: row.Item, Traceparent: row.Traceparent,
		Outcome: inbox.Received, Generation: 1, EffectGeneration: 1,
		ReplaySuspect: row.ReplaySuspect, RetryNumber: row.RetryNumber, RetryReason: row.RetryReason, Origin: row.Origin, Altered: row.Altered,
		// First attempts may still read the body after the caller has reused the delivery's buffer.
		ContentType: a.ContentType, Body: bytes.Clone(a.Body),
	}
	if json.Unmarshal(a.headers, &e.Headers) != nil {
		return nil
	}
	planned := a.plans.planner.Plan(ctx, e)
	if planned == nil {
		return nil
	}
	if err := planned.validate(); err != nil { // the event's job records the error
		planned.End(Dispatched{Left: true}, nil)
		return nil
	}
	return planned
}

// planWith prepares the planned rows of a batch in which at least one event has a plan. All events
// of a delivery have the same receipt time.
func (r *acceptRows) planWith(batch []arrival) {
	r.planned = make([]plannedRow, len(r.events))
	for i, e := range r.events {
		r.planned[i].eventRow = e
		if p := batch[r.at[i].arrival].plans; p.usable() {
			r.planned[i].CameAt = column.KnownTime(p.cameAt)
		}
	}
}

func (r *plannedRow) of(d Dispatch) {
	r.PlannedOutcome, r.ConfigHash = d.outcome(), d.ConfigHash
	r.Configuration, r.Routes, r.ForHandlers = d.Configuration.Number, d.Configuration.Routes, d.Configuration.ForHandlers
}

// createPlanned creates the effects of the events that T1 stored with their plans. If that fails,
// T1 is tried again without the plans: a plan must never cause a delivery to be refused.
func (o *Outbox) createPlanned(ctx context.Context, tx pgx.Tx, rows *acceptRows, batch []arrival, known map[identity.EventRef]knownEvent) error {
	var of []Dispatch
	var made []ledger.Plan
	var at []eventAt
	for i := range rows.planned {
		where := rows.at[i]
		p := batch[where.arrival].plans
		if !p.usable() || p.of[where.event] == nil {
			continue
		}
		stored := rows.inserted[i]
		if !stored.planned {
			ours := stored.acceptSeq == 0 && known[rows.events[i].EventRef].acceptanceID == rows.events[i].AcceptanceID // stored by an earlier try
			p.results[where.event] = Dispatched{Left: !ours}
			continue
		}
		d := p.of[where.event].Dispatch
		d.Event.AcceptSeq = stored.acceptSeq
		of, made, at = append(of, d), append(made, d.plan()), append(at, where)
	}
	if len(of) == 0 {
		return nil
	}
	planned, err := o.createEffects(ctx, tx, of, made)
	if err != nil {
		for _, where := range at {
			batch[where.arrival].plans.drop()
		}
		return fmt.Errorf("%w: %s", commit.ErrTryAgain, err) //nolint:errorlint // a wrapped error could count as a fault of the delivery
	}
	for i, p := range planned {
		batch[at[i].arrival].plans.results[at[i].event] = of[i].dispatched(p)
	}
	return nil
}

func (o *Outbox) createEffects(ctx context.Context, tx pgx.Tx, of []Dispatch, made []ledger.Plan) ([]ledger.Planned, error) {
	if err := failpoint.Hit("accept.planned"); err != nil {
		return nil, err
	}
	if err := o.keepSearchValues(ctx, tx, of...); err != nil {
		return nil, err
	}
	return o.ledger.CreateTx(ctx, tx, made, false)
}
