package erasure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/noun"
	"github.com/hooklatch/hooklatch/outbox/export"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Order describes the request for an erasure.
type Order struct {
	// Cancel is true to cancel unfinished work before the erasure. Otherwise the erasure of an
	// unfinished event or effect is refused.
	Cancel bool
	// Filter is the filter that selected the event, for the operator log, without the texts that it
	// searches for. Nil if the operator named the event.
	Filter any
	// Run is the id of the bulk run that the erasure belongs to, or 0 for none.
	Run int64
	// Received is the time at which the event was received. Bulk runs set it: if the event is no
	// longer in the database, the erasure searches the export of that day.
	Received time.Time
	// Searched are the texts that the selection searched for. Erased.Kept reports ids and keys that
	// stay and contain one of these texts.
	Searched []string
}

// Erased is the result of an erasure.
type Erased struct {
	Again   bool // the event or effect was erased before
	Effects int  // number of effects that were erased
	// Others is the number of other events in the delivery that are not erased. Their parts of the
	// body and the delivery's headers stay.
	Others int
	// Remains is true if the event's own part of the body stays, because it overlaps the parts of
	// other events or cannot be located. The part is erased with the last of the other events.
	Remains bool
	// Kept are ids and keys that stay although they contain erased data.
	Kept []Kept
}

// Kept is an id or key that contains erased data and stays.
type Kept struct {
	Where string `json:"where"` // "event id", "key of effect" or "key of latest_by"
	Text  string `json:"text"`
}

// Tries is the maximum number of tries of an erasure that cancels unfinished work. New effects may
// appear between two tries.
const Tries = 5

// Event erases an event: its part of its delivery's body, and the requests, responses and errors of
// its effects. An event that was erased before is erased again, in case a restore has brought data
// back. Errors: ErrNotFound, *UnfinishedError, ErrUnavailable.
func (e *Eraser) Event(ctx context.Context, ref identity.EventRef, by ledger.Operator, order Order) (Erased, error) {
	if by.RequestID == "" {
		by.RequestID = uuid.NewString()
	}
	for try := 1; ; try++ {
		erased, of, err := e.eraseAlone(ctx, ref, by, order)
		if unfinished, ok := errors.AsType[*UnfinishedError](err); ok && order.Cancel && try < Tries {
			if err = e.GiveUp(ctx, unfinished, by); err == nil {
				continue
			}
		}
		if err == nil {
			err = e.eraseJobs(ctx, of, nil)
		}
		if errors.Is(err, ledger.ErrNotFound) && order.Received.IsZero() && e.export != nil {
			var found *export.Found
			if found, err = e.export.Find(ctx, ref, time.Time{}); err == nil && found != nil {
				order.Received = found.Day
				continue
			} else if err == nil {
				err = ledger.ErrNotFound
			}
		}
		if err == nil {
			err = e.Exported(ctx, nil)
		}
		if err != nil {
			return Erased{}, fmt.Errorf("erase event %s: %w", ref, err)
		}
		return erased, nil
	}
}

// EventTx is like Event, but runs in a bulk run's transaction, in which it also logs the operator
// action. It does not cancel effects: see GiveUp. The jobs stay until JobsOfRun deletes them.
func (e *Eraser) EventTx(ctx context.Context, tx pgx.Tx, ref identity.EventRef, by ledger.Operator, order Order) (Erased, error) {
	erased, _, err := e.eraseEvent(ctx, tx, ref, by, order)
	if err == nil {
		err = e.ledger.LogTx(ctx, tx, by, order.on(ref), erased.consequence())
	}
	if err != nil {
		return Erased{}, fmt.Errorf("erase event %s: %w", ref, err)
	}
	return erased, nil
}

// GiveUp cancels the effects that prevent an erasure, each as an operator action.
func (e *Eraser) GiveUp(ctx context.Context, unfinished *UnfinishedError, by ledger.Operator) error {
	for _, key := range unfinished.keys {
		err := e.ledger.Cancel(ctx, key, by)
		if _, moved := errors.AsType[*ledger.StateError](err); err != nil && !moved {
			return err
		}
	}
	return nil
}

// on returns the instruction for one event, for the operator log.
func (o Order) on(ref identity.EventRef) ledger.Instruction {
	return ledger.Instruction{Action: ActionEraseEvent, Target: ref.String(), Filter: o.Filter, Run: o.Run}
}

// eraseAlone erases an event in its own transaction.
func (e *Eraser) eraseAlone(ctx context.Context, ref identity.EventRef, by ledger.Operator, order Order) (Erased, jobsOf, error) {
	var erased Erased
	var of jobsOf
	err := e.ledger.Act(ctx, by, order.on(ref), func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		came, jobs, err := e.eraseEvent(ctx, tx, ref, by, order)
		if err != nil {
			return ledger.Consequence{}, err
		}
		erased, of = came, jobs
		return came.consequence(), nil
	})
	if err == nil && of.events == nil { // an earlier try committed, but its COMMIT response was lost
		of = jobsOf{events: []identity.EventRef{ref}}
	}
	return erased, of, err
}

// eraseEvent erases an event whose work is finished. With order.Cancel, it first drops an event that
// is still to be dispatched or waits for an operator.
func (e *Eraser) eraseEvent(ctx context.Context, tx pgx.Tx, ref identity.EventRef, by ledger.Operator, order Order) (Erased, jobsOf, error) {
	var came Erased
	event, err := e.lock(ctx, tx, ref)
	if errors.Is(err, ledger.ErrNotFound) && !order.Received.IsZero() && e.export != nil {
		return e.eraseExported(ctx, tx, ref, by, order)
	}
	if err != nil {
		return came, jobsOf{}, err
	}
	made, err := e.madeBy(ctx, tx, ref)
	if err != nil {
		return came, jobsOf{}, err
	}
	if err := e.finish(ctx, tx, event, made, order); err != nil {
		return came, jobsOf{}, err
	}
	came.Again = event.erasedAt != nil
	if came.Kept, err = e.kept(ctx, tx, event, made, order.Searched); err != nil {
		return came, jobsOf{}, err
	}
	note := "erased by " + by.Who
	if err := e.sql.EraseEvent.With(eraseEvent{EventRef: ref, Note: note}).QueryRow(ctx, tx).Scan(&came.Effects, &came.Others); err != nil {
		return came, jobsOf{}, fmt.Errorf("erase texts: %w", err)
	}
	if came.Others > 0 {
		if came.Remains, err = e.eraseItem(ctx, tx, event); err != nil {
			return came, jobsOf{}, err
		}
	}
	if err := e.eraseCopies(ctx, tx, ref); err != nil {
		return came, jobsOf{}, err
	}
	return came, jobsOf{events: []identity.EventRef{ref}, effects: idsOf(made)}, nil
}

func (r Erased) consequence() ledger.Consequence {
	return ledger.Consequence{Result: r.String(), Affected: 1}
}

// String describes the result, for the operator log.
func (r Erased) String() string {
	text := noun.Counted(r.Effects, "effect") + " erased with it"
	switch {
	case r.Others == 1:
		text += ", 1 other event of its delivery remains"
	case r.Others > 0:
		text += fmt.Sprintf(", %d other events of its delivery remain", r.Others)
	}
	if r.Remains {
		text += " with the whole body"
	}
	if r.Again {
		text += ", again"
	}
	return text
}

// finish ensures that no more work begins for the event. It returns an *UnfinishedError if an
// effect is unfinished, because effects must be cancelled first. It returns the same error if the
// event still waits and the order does not cancel it.
func (e *Eraser) finish(ctx context.Context, tx pgx.Tx, event lockedEvent, made []madeEffect, order Order) error {
	var unfinished UnfinishedError
	for _, m := range made {
		if !m.finished() {
			unfinished.Effects = append(unfinished.Effects, m.state)
			unfinished.keys = append(unfinished.keys, m.idempotencyKey)
		}
	}
	if event.waits() && !order.Cancel {
		unfinished.Outcome = event.outcome
	}
	if unfinished.Outcome != "" || len(unfinished.Effects) > 0 {
		return &unfinished
	}
	if !event.waits() {
		return nil
	}
	if _, err := e.sql.GiveUpEvent.With(event.ref).Exec(ctx, tx); err != nil {
		return fmt.Errorf("give up event: %w", err)
	}
	return nil
}
