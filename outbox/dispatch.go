package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Dispatch is the plan for one event. T2 commits it, or T1 if the process that accepts the event
// also plans it.
type Dispatch struct {
	Event      *inbox.Event // as loaded by Inbox.Event; the fence compares its generation
	Effects    []ledger.NewEffect
	ConfigHash string // hash of the configuration that the plan used
	// Configuration is the configuration that the planning process announced. A plan with the zero
	// value passes the fence regardless of other processes' configurations.
	Configuration fleet.Configuration
	// Handled is true if a handler ran. An event without effects then counts as dispatched, not as
	// skipped.
	Handled bool
	// SearchValues are values of the payload by which operators find the event, in lower case: at
	// most 16, each of at most 256 bytes.
	SearchValues []string
	// Traceparent is the W3C trace context of the dispatching span, which creates the effects.
	// Defaults to the event's trace context.
	Traceparent string
	// JobID is the id of the job that created the plan, if the job has no work left. The fence
	// then deletes the job. If JobID is zero, River completes the job.
	JobID int64
}

// Dispatched is the result of a Dispatch.
type Dispatched struct {
	// Fenced is true if the plan passed the fence and was written. It is false if the event was
	// dispatched before or replayed since it was loaded, or if Left is true.
	Fenced bool
	// Left is true if a running process with the event's source has a newer configuration. That
	// process then decides. For an event planned in T1, Left is also true if the event already has
	// its job or was accepted before.
	Left       bool
	Outcome    inbox.Outcome
	Created    []identity.EffectID // new effects; parked effects, and most that wait for their turn, have no job
	Suppressed []identity.EffectID // effects whose key an earlier event used (I4)
	// Started are the effects of Created whose first attempt the caller must execute and settle:
	// see ledger.NewEffect.Claim.
	Started []ledger.Effect
}

func (d Dispatch) traceparent() string { return cmp.Or(d.Traceparent, d.Event.Traceparent) }

// plan returns the plan for the ledger.
func (d Dispatch) plan() ledger.Plan {
	return ledger.Plan{
		Cause: *causeOf(d.Event), Effects: d.Effects, Traceparent: d.traceparent(),
		Item: d.Event.Item, ContentType: d.Event.ContentType, Body: d.Event.Body,
	}
}

// dispatched returns the result for d after its plan was written.
func (d Dispatch) dispatched(p ledger.Planned) Dispatched {
	return Dispatched{Fenced: true, Outcome: d.outcome(), Created: p.Created, Suppressed: p.Suppressed, Started: p.Started}
}

// causeOf returns the ledger's record of an event, or nil if e is nil.
func causeOf(e *inbox.Event) *ledger.Cause {
	if e == nil {
		return nil
	}
	c := ledger.Cause{EventRef: e.EventRef, Type: e.Type, AcceptSeq: e.AcceptSeq, Generation: e.Generation, OccurredAt: e.OccurredAt, Origin: e.Origin}
	if column.KnownTime(c.OccurredAt) == nil {
		c.OccurredAt = e.ReceivedAt
	}
	return &c
}

func (d Dispatch) outcome() inbox.Outcome {
	switch {
	case len(d.Effects) > 0 || d.Handled:
		return inbox.Dispatched
	case d.Event.OnlyRoute != "": // the result of the other routes is kept
		return d.Event.Before
	}
	return inbox.Skipped
}

func (d Dispatch) validate() error {
	if d.Event == nil {
		return errors.New("no event")
	}
	for _, e := range d.Effects {
		if err := e.Validate(); err != nil {
			return err
		}
	}
	return d.checkSearchValues()
}

func (d Dispatch) weigh() (items, size int) {
	for _, e := range d.Effects {
		size += len(e.Request.Body)
	}
	for _, value := range d.SearchValues {
		size += len(value)
	}
	return 1 + len(d.Effects), size
}

// Dispatch commits the plan in one transaction (T2), which may also commit other plans. T2 passes
// the fence first, and then writes the effects, their links, and the jobs of new effects (see
// Dispatched.Created). The commit does not depend on ctx. Errors: ErrBusy, ErrUnavailable,
// ErrClosed; any other error means that the plan is invalid.
func (o *Outbox) Dispatch(ctx context.Context, d Dispatch) (Dispatched, error) {
	if err := d.validate(); err != nil {
		return Dispatched{}, fmt.Errorf("dispatch event: %w", err)
	}
	dispatched, err := o.dispatches.Submit(context.WithoutCancel(ctx), d)
	if err != nil {
		o.noteRefusal(err)
		return Dispatched{}, fmt.Errorf("dispatch event: %w", err)
	}
	return dispatched, nil
}

// DispatchTx dispatches inside the caller's transaction. The function handle, unless nil, runs
// between the fence and the effects, so that its writes are applied once for each generation of the
// event (I10). handle does not run if the plan does not pass the fence. After an error the caller
// must roll back.
func (o *Outbox) DispatchTx(ctx context.Context, tx pgx.Tx, d Dispatch, handle func(context.Context, pgx.Tx) error) (Dispatched, error) {
	if err := d.validate(); err != nil {
		return Dispatched{}, fmt.Errorf("dispatch event: %w", err)
	}
	d.Handled = d.Handled || handle != nil
	fenced, err := o.fence(ctx, tx, []Dispatch{d})
	if err != nil {
		return Dispatched{}, fmt.Errorf("dispatch event: %w", err)
	}
	if !fenced.passed[d.Event.EventRef] {
		return Dispatched{Left: fenced.left[d.Event.EventRef]}, nil
	}
	if handle != nil {
		if err := handle(ContextWithEvent(ctx, d.Event), tx); err != nil {
			return Dispatched{}, err
		}
	}
	if err := o.keepSearchValues(ctx, tx, d); err != nil {
		return Dispatched{}, fmt.Errorf("dispatch event: %w", err)
	}
	planned, err := o.ledger.CreateTx(ctx, tx, []ledger.Plan{d.plan()}, true)
	if err != nil {
		return Dispatched{}, fmt.Errorf("dispatch event: %w", err)
	}
	return d.dispatched(planned[0]), nil
}

// FailDispatch records that the last attempt to dispatch the event failed. If a running process has
// the event's source and a configuration newer than by, that process decides. FailDispatch then
// records nothing and returns true. It also records nothing if the event was dispatched or replayed
// since it was loaded, and then returns false. Errors: ErrUnavailable.
func (o *Outbox) FailDispatch(ctx context.Context, e *inbox.Event, by fleet.Configuration, reason string) (left bool, err error) {
	err = o.db.Do(ctx, "fail_dispatch", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		failed := failDispatch{
			EventRef: e.EventRef, Generation: e.Generation, Error: column.Reason(reason),
			newerThan: configurationsNewerThan(by), Routes: by.Routes, ForHandlers: by.ForHandlers,
		}
		return o.sql.FailDispatch.With(failed).QueryRow(ctx, tx).Scan(&left)
	})
	if err != nil {
		return false, fmt.Errorf("record failed dispatch: %w", err)
	}
	return left, nil
}

// dispatchBatch runs T2 for all plans of a batch.
//
// A retry after an unknown outcome may find its own events already dispatched. It reports
// them as not fenced, which is correct for the caller: nothing is left to write.
func (o *Outbox) dispatchBatch(ctx context.Context, tx pgx.Tx, batch []Dispatch) ([]Dispatched, error) {
	fenced, err := o.fence(ctx, tx, batch)
	if err != nil {
		return nil, err
	}
	results := make([]Dispatched, len(batch))
	var passed []ledger.Plan
	var searched []Dispatch
	var at []int
	for i, d := range batch {
		results[i].Left = fenced.left[d.Event.EventRef]
		if fenced.passed[d.Event.EventRef] {
			delete(fenced.passed, d.Event.EventRef) // a second plan for the event does not pass
			passed, searched, at = append(passed, d.plan()), append(searched, d), append(at, i)
		}
	}
	if err := o.keepSearchValues(ctx, tx, searched...); err != nil {
		return nil, err
	}
	planned, err := o.ledger.CreateTx(ctx, tx, passed, false)
	if err != nil {
		return nil, err
	}
	for i, p := range planned {
		results[at[i]] = batch[at[i]].dispatched(p)
	}
	return results, nil
}

// fencedRow is the new state that a plan gives its event.
type fencedRow struct {
	identity.EventRef

	Generation    int
	Outcome       inbox.Outcome
	ConfigHash    string
	JobID         int64
	Configuration int64
	Routes        string
	ForHandlers   bool
}

// newerThan contains the arguments that select the running processes whose configuration has a
// higher number than Configuration.
type newerThan struct {
	Configuration                int64
	SeenSeconds, PatienceSeconds float64
}

// configurationsNewerThan returns the arguments for plans of the given configurations. They select
// each process whose configuration is newer than at least one of these. A zero Configuration does
// not count.
func configurationsNewerThan(by ...fleet.Configuration) newerThan {
	than := newerThan{Configuration: math.MaxInt64, PatienceSeconds: fleet.GatewayPatience.Seconds()}
	for _, c := range by {
		if c.Number > 0 {
			than.Configuration = min(than.Configuration, c.Number)
			than.SeenSeconds = max(than.SeenSeconds, c.CountsFor().Seconds())
		}
	}
	return than
}

type fenceArgs struct {
	newerThan

	Planned []fencedRow
}

// fenced contains a batch's events that passed the fence, and the events left to a process with a
// newer configuration.
type fenced struct{ passed, left map[identity.EventRef]bool }

// fence sets the outcome of the batch's events that are not dispatched yet. It returns these events,
// and the events left to a process with a newer configuration.
func (o *Outbox) fence(ctx context.Context, tx pgx.Tx, batch []Dispatch) (fenced, error) {
	var planned []fencedRow
	seen := make(map[identity.EventRef]bool, len(batch))
	var by []fleet.Configuration
	for _, d := range batch {
		if seen[d.Event.EventRef] {
			continue
		}
		seen[d.Event.EventRef] = true
		planned = append(planned, fencedRow{
			EventRef: d.Event.EventRef, Generation: d.Event.Generation, Outcome: d.outcome(), ConfigHash: d.ConfigHash, JobID: d.JobID,
			Configuration: d.Configuration.Number, Routes: d.Configuration.Routes, ForHandlers: d.Configuration.ForHandlers,
		})
		by = append(by, d.Configuration)
	}
	rows, err := o.sql.Fence.With(fenceArgs{newerThan: configurationsNewerThan(by...), Planned: planned}).Query(ctx, tx)
	if err != nil {
		return fenced{}, fmt.Errorf("fence events: %w", err)
	}
	found := fenced{passed: make(map[identity.EventRef]bool, len(batch)), left: map[identity.EventRef]bool{}}
	var ref identity.EventRef
	var left bool
	if _, err := pgx.ForEachRow(rows, []any{&ref.Source, &ref.EventID, &left}, func() error {
		if left {
			found.left[ref] = true
		} else {
			found.passed[ref] = true
		}
		return nil
	}); err != nil {
		return fenced{}, fmt.Errorf("fence events: %w", err)
	}
	return found, nil
}
