package inbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/export"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// FromExport finds the event in the export if its delivery is no longer stored. It returns a value
// for ReplayOptions.Exported, or nil if there is nothing to restore.
func (i *Inbox) FromExport(ctx context.Context, ref identity.EventRef) (*export.Found, error) {
	if i.export == nil {
		return nil, nil //nolint:nilnil // nil means that there is nothing to restore
	}
	e, err := i.Event(ctx, ref)
	var day time.Time
	switch {
	case errors.Is(err, ledger.ErrNotFound):
	case err != nil:
		return nil, err
	case e.Headers != nil || e.Outcome == Imported || e.gone() != "":
		return nil, nil //nolint:nilnil // nil means that there is nothing to restore
	default:
		day = e.ReceivedAt
	}
	return i.export.Find(ctx, ref, day)
}

// restoreTx stores an exported event and its delivery again. Retention deletes them again after the
// work of the replay has ended.
func (i *Inbox) restoreTx(ctx context.Context, tx pgx.Tx, found *export.Found) error {
	body := append([]byte{}, found.Line.Body...)
	_, err := i.sql.RestoreEvent.With(restoreEvent{
		EventRef: found.Event.EventRef, Event: found.Event.Row, Delivery: found.Line.Delivery, Body: body,
	}).Exec(ctx, tx)
	if err == nil {
		_, err = i.sql.RestoreOutcome.With(restoreOutcome{EventRef: found.Event.EventRef, Event: found.Event.Row}).Exec(ctx, tx)
	}
	if err != nil {
		return fmt.Errorf("restore event %s from the export: %w", found.Event.EventRef, err)
	}
	return nil
}
