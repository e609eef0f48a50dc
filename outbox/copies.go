package outbox

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// copyRow records that a part of a stored delivery is a copy of an event.
type copyRow struct {
	identity.EventRef

	DeliveryID uuid.UUID
	Item       string
}

type noteCopies struct{ Copies []copyRow }

// noteCopies records which parts of stored deliveries repeat an event of the same delivery or of
// another one. A delivery is stored whole if any of its events is new. Erasing an event also erases
// its copies.
func (o *Outbox) noteCopies(ctx context.Context, tx pgx.Tx, batch []arrival, acceptances []Acceptance) error {
	var copies []copyRow
	for i, a := range batch {
		if len(a.Events) > 1 {
			copies = append(copies, a.copies(acceptances[i])...)
		}
	}
	if len(copies) == 0 {
		return nil
	}
	if _, err := o.sql.NoteCopies.With(noteCopies{copies}).Exec(ctx, tx); err != nil {
		return fmt.Errorf("note copies: %w", err)
	}
	return nil
}

// copies returns the delivery's parts that repeat an event, except parts that overlap a new event.
// It returns nothing if no event is new, because the delivery is then not stored.
func (a arrival) copies(came Acceptance) []copyRow {
	var fresh []string // items of the new events; the delivery is stored because of them
	for j, e := range came.Events {
		if e.AcceptanceID == a.acceptanceIDs[j] {
			fresh = append(fresh, a.Events[j].Item)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	var copies []copyRow
	for j, e := range came.Events {
		item := a.Events[j].Item
		if e.Status != Duplicate || slices.ContainsFunc(fresh, func(of string) bool { return overlap(of, item) }) {
			continue
		}
		ref := e.EventRef
		if e.SameAs != "" {
			ref.EventID = e.SameAs
		}
		copies = append(copies, copyRow{EventRef: ref, DeliveryID: a.deliveryID, Item: safetext.Storable(item)})
	}
	return copies
}

// overlap reports whether one JSON Pointer refers to the same value as the other, or to a value
// inside it.
func overlap(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}
