package erasure

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Exported applies the database's erasures to the export. It may be called repeatedly. Retention
// applies them too. Exported calls the function still before each day of the export and returns its
// error; still may be nil.
func (e *Eraser) Exported(ctx context.Context, still func(context.Context) error) error {
	if e.export == nil {
		return nil
	}
	if err := e.export.EraseNoted(ctx, still); err != nil {
		return fmt.Errorf("the database has erased the content, but the export still has it, and retention will try again: %w", err)
	}
	return nil
}

// eraseExported notes the erasure of an event that only the export has.
func (e *Eraser) eraseExported(ctx context.Context, tx pgx.Tx, ref identity.EventRef, by ledger.Operator, order Order) (Erased, jobsOf, error) {
	found, err := e.export.Find(ctx, ref, order.Received)
	if err != nil {
		return Erased{}, jobsOf{}, err
	}
	if found == nil {
		return Erased{}, jobsOf{}, ledger.ErrNotFound
	}
	came := Erased{Effects: len(found.Event.EffectStates())}
	if namesPerson(string(ref.EventID), order.Searched) {
		came.Kept = []Kept{{"event id", string(ref.EventID)}}
	}
	if err := e.export.NoteErasureTx(ctx, tx, ref, "erased by "+by.Who); err != nil {
		return Erased{}, jobsOf{}, err
	}
	return came, jobsOf{events: []identity.EventRef{ref}}, nil
}
