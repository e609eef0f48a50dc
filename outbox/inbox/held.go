package inbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Release enqueues the dispatch of an event that a replay guard holds. A dropped event can also be
// released while its delivery is stored. Errors: ErrNotFound, ErrNotHeld, ErrUnavailable.
func (i *Inbox) Release(ctx context.Context, ref identity.EventRef, by ledger.Operator) error {
	err := i.ledger.Act(ctx, by, ledger.Instruction{Action: ledger.ActionReleaseEvent, Target: ref.String()}, func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		return ledger.Consequence{Affected: 1}, i.ReleaseTx(ctx, tx, ref)
	})
	if err != nil {
		return fmt.Errorf("release event %s: %w", ref, err)
	}
	return nil
}

// ReleaseTx is like Release, but runs in the caller's transaction, which records the operator.
func (i *Inbox) ReleaseTx(ctx context.Context, tx pgx.Tx, ref identity.EventRef) error {
	j := riverjob.DispatchJob{Event: ref}
	err := i.sql.ReleaseEvent.With(ref).QueryRow(ctx, tx).Scan(&j.EventType, &j.Origin, &j.Queue, &j.Traceparent)
	if errors.Is(err, pgx.ErrNoRows) {
		return i.whyNotHeld(ctx, tx, ref)
	}
	if err != nil {
		return err
	}
	return i.jobs.InsertDispatches(ctx, tx, []riverjob.DispatchJob{j})
}

// Drop prevents the dispatch of an event that a replay guard holds. Its row and body stay, so that
// it can still be released. Errors: ErrNotFound, ErrNotHeld, ErrUnavailable.
func (i *Inbox) Drop(ctx context.Context, ref identity.EventRef, by ledger.Operator) error {
	err := i.ledger.Act(ctx, by, ledger.Instruction{Action: ledger.ActionDropEvent, Target: ref.String()}, func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		return ledger.Consequence{Affected: 1}, i.DropTx(ctx, tx, ref, by)
	})
	if err != nil {
		return fmt.Errorf("drop event %s: %w", ref, err)
	}
	return nil
}

// DropTx is like Drop, but runs in the caller's transaction, which records the operator.
func (i *Inbox) DropTx(ctx context.Context, tx pgx.Tx, ref identity.EventRef, by ledger.Operator) error {
	tag, err := i.sql.DropEvent.With(dropEvent{EventRef: ref, Error: column.Done("dropped", by.Who, by.Reason)}).Exec(ctx, tx)
	if err == nil && tag.RowsAffected() == 0 {
		err = i.whyNotHeld(ctx, tx, ref)
	}
	return err
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
		return fmt.Errorf("%w: it was dropped, and its delivery has expired and was deleted", ErrNotHeld)
	}
	return fmt.Errorf("%w: it is %s", ErrNotHeld, e.Outcome)
}
