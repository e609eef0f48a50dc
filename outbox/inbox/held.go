package inbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/internal/column"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/riverjob"
)

// Release lets an event that a replay guard holds go on to its dispatch. One
// that was dropped is released as well, as long as its delivery is kept. Errors:
// ErrNotFound, ErrNotHeld, ErrUnavailable.
func (i *Inbox) Release(ctx context.Context, ref identity.EventRef, by ledger.Operator) error {
	return i.release(ctx, ref, by, nil)
}

func (i *Inbox) release(ctx context.Context, ref identity.EventRef, by ledger.Operator, filter any) error {
	what := ledger.Instruction{Action: ledger.ActionReleaseEvent, Target: ref.String(), Filter: filter}
	err := i.ledger.Act(ctx, by, what, func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		j := riverjob.DispatchJob{Event: ref}
		err := i.sql.ReleaseEvent.With(ref).QueryRow(ctx, tx).Scan(&j.EventType, &j.Queue, &j.Traceparent)
		if errors.Is(err, pgx.ErrNoRows) {
			return ledger.Consequence{}, i.whyNotHeld(ctx, tx, ref)
		}
		if err != nil {
			return ledger.Consequence{}, err
		}
		return ledger.Consequence{Affected: 1}, i.jobs.InsertDispatches(ctx, tx, []riverjob.DispatchJob{j})
	})
	if err != nil {
		return fmt.Errorf("release event %s: %w", ref, err)
	}
	return nil
}

// Drop decides that an event a replay guard holds is never dispatched. Its row
// and its body stay, so that it can still be released. Errors: ErrNotFound,
// ErrNotHeld, ErrUnavailable.
func (i *Inbox) Drop(ctx context.Context, ref identity.EventRef, by ledger.Operator) error {
	return i.drop(ctx, ref, by, nil)
}

func (i *Inbox) drop(ctx context.Context, ref identity.EventRef, by ledger.Operator, filter any) error {
	what := ledger.Instruction{Action: ledger.ActionDropEvent, Target: ref.String(), Filter: filter}
	err := i.ledger.Act(ctx, by, what, func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		tag, err := i.sql.DropEvent.With(dropEvent{EventRef: ref, Error: column.Done("dropped", by.Who, by.Reason)}).Exec(ctx, tx)
		if err != nil {
			return ledger.Consequence{}, err
		}
		if tag.RowsAffected() == 0 {
			return ledger.Consequence{}, i.whyNotHeld(ctx, tx, ref)
		}
		return ledger.Consequence{Affected: 1}, nil
	})
	if err != nil {
		return fmt.Errorf("drop event %s: %w", ref, err)
	}
	return nil
}

func (i *Inbox) whyNotHeld(ctx context.Context, tx pgx.Tx, ref identity.EventRef) error {
	e, err := i.event(ctx, tx, ref)
	if err != nil {
		return err
	}
	if gone := e.gone(); gone != "" {
		return fmt.Errorf("%w: %s", ErrNotHeld, gone)
	}
	if e.Outcome == Dropped && e.Headers == nil {
		return fmt.Errorf("%w: it was dropped, and its delivery is past its time and was deleted", ErrNotHeld)
	}
	return fmt.Errorf("%w: it is %s", ErrNotHeld, e.Outcome)
}

// HeldFilter selects events that replay guards hold. Empty fields take all.
type HeldFilter struct {
	Source identity.Source `json:"source,omitempty"`
	Type   string          `json:"type,omitempty"`
	From   time.Time       `json:"from,omitzero"`  // received at or after
	Until  time.Time       `json:"until,omitzero"` // received before
}

func (f HeldFilter) replayable() ReplayFilter {
	return ReplayFilter{Source: f.Source, Type: f.Type, State: Held, From: f.From, Until: f.Until}
}

// CountHeld is how many events f selects now.
func (i *Inbox) CountHeld(ctx context.Context, f HeldFilter) (int64, error) {
	count, _, err := i.countReplayable(ctx, f.replayable())
	return count, err
}

// ReleaseMany releases the events of f in the order they were accepted, each in
// a transaction of its own, until all are through or ctx is done. Those that
// come to be held meanwhile are left out. It returns how many it released, also
// beside an error.
func (i *Inbox) ReleaseMany(ctx context.Context, f HeldFilter, by ledger.Operator) (int64, error) {
	return i.decideMany(ctx, f, by, i.release)
}

// DropMany is ReleaseMany for dropping.
func (i *Inbox) DropMany(ctx context.Context, f HeldFilter, by ledger.Operator) (int64, error) {
	return i.decideMany(ctx, f, by, i.drop)
}

func (i *Inbox) decideMany(ctx context.Context, f HeldFilter, by ledger.Operator,
	decide func(context.Context, identity.EventRef, ledger.Operator, any) error,
) (int64, error) {
	if by.RequestID == "" {
		by.RequestID = uuid.NewString() // one order
	}
	_, last, err := i.countReplayable(ctx, f.replayable())
	if err != nil {
		return 0, err
	}
	var done int64
	for after := int64(0); after < last; {
		page, next, err := i.replayable(ctx, f.replayable(), after, last)
		if err != nil {
			return done, err
		}
		after = next
		for _, c := range page {
			if err := context.Cause(ctx); err != nil {
				return done, fmt.Errorf("decide about held events: %w", err)
			}
			err := decide(ctx, c.EventRef, by, f)
			switch {
			case err == nil:
				done++
			case errors.Is(err, ErrNotHeld) || errors.Is(err, ledger.ErrNotFound): // somebody else was faster
			default:
				return done, err
			}
		}
	}
	return done, nil
}
