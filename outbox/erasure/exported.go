package erasure

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/payload"
	"github.com/hooklatch/hooklatch/outbox/export"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Exported applies the database's erasures to the export. It may be called repeatedly. Retention
// applies them too. Exported calls the function still before each day of the export and between the
// parts of a day, and returns its error; still may be nil.
func (e *Eraser) Exported(ctx context.Context, still func(context.Context) error) error {
	if e.export == nil {
		return nil
	}
	if err := e.export.EraseNoted(ctx, still); err != nil {
		return fmt.Errorf("the database has erased the content, but the export still has it, and retention will try again: %w", err)
	}
	return nil
}

// eraseExported erases an event whose row retention has deleted. It notes the erasure for the
// export, and erases what the database still has: the event's effects, its part of a delivery that
// other events need, and its copies in other deliveries. Retention keeps effects longer than their
// events.
func (e *Eraser) eraseExported(ctx context.Context, tx pgx.Tx, ref identity.EventRef, by ledger.Operator, order Order) (Erased, jobsOf, error) {
	found, err := e.export.Find(ctx, ref, order.Received)
	if err != nil {
		return Erased{}, jobsOf{}, err
	}
	if found == nil {
		return Erased{}, jobsOf{}, ledger.ErrNotFound
	}
	event, err := exportedEvent(found)
	if err != nil {
		return Erased{}, jobsOf{}, err
	}
	made, later, err := e.storedEffects(ctx, tx, event, found)
	if err != nil {
		return Erased{}, jobsOf{}, err
	}
	if err := e.finish(ctx, tx, event, made, order); err != nil {
		return Erased{}, jobsOf{}, err
	}
	came := Erased{Effects: len(found.Event.EffectStates()) + later}
	if namesPerson(string(ref.EventID), order.Searched) {
		came.Kept = []Kept{{"event id", string(ref.EventID)}}
	}
	note := "erased by " + by.Who
	for _, m := range made {
		if _, err := e.sql.EraseEffect.With(eraseEffect{EffectID: m.id, Note: note}).Exec(ctx, tx); err != nil {
			return Erased{}, jobsOf{}, fmt.Errorf("erase texts of effects: %w", err)
		}
	}
	if came.Others, came.Remains, err = e.eraseFromDelivery(ctx, tx, event, found.Line); err != nil {
		return Erased{}, jobsOf{}, err
	}
	if err := e.eraseCopies(ctx, tx, ref); err != nil {
		return Erased{}, jobsOf{}, err
	}
	if err := e.export.NoteErasureTx(ctx, tx, ref, note); err != nil {
		return Erased{}, jobsOf{}, err
	}
	return came, jobsOf{events: []identity.EventRef{ref}, effects: idsOf(made)}, nil
}

// exportedEvent returns the state of an event in the export.
func exportedEvent(found *export.Found) (lockedEvent, error) {
	var row struct {
		AcceptSeq  int64     `json:"accept_seq"`
		DeliveryID uuid.UUID `json:"delivery_id"`
		ReceivedAt time.Time `json:"received_at"`
		Item       string    `json:"item"`
	}
	if err := json.Unmarshal(found.Event.Row, &row); err != nil {
		return lockedEvent{}, fmt.Errorf("row of an event in the export: %w", err)
	}
	return lockedEvent{ref: found.Event.EventRef, acceptSeq: row.AcceptSeq, deliveryID: row.DeliveryID, receivedAt: row.ReceivedAt, item: row.Item}, nil
}

// storedEffects returns the effects of an exported event that the database still has. The result
// later is the number of these effects that are not in the export, because a replay created them
// after the event's day was exported.
func (e *Eraser) storedEffects(ctx context.Context, tx pgx.Tx, event lockedEvent, found *export.Found) (made []madeEffect, later int, err error) {
	created, err := found.Event.Created()
	if err != nil {
		return nil, 0, err
	}
	asked := storedEffects{EventRef: event.ref, AcceptSeq: event.acceptSeq, Effects: []storedEffect{}}
	exported := map[identity.EffectID]bool{}
	for _, c := range created {
		asked.Effects = append(asked.Effects, storedEffect{c.EffectID, c.RowID})
		exported[c.EffectID] = true
	}
	rows, err := e.sql.StoredEffects.With(asked).Query(ctx, tx)
	if err != nil {
		return nil, 0, fmt.Errorf("find effects: %w", err)
	}
	made, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (m madeEffect, err error) {
		return m, row.Scan(&m.id.Scope, &m.id.Key, &m.id.Generation, &m.idempotencyKey, &m.state)
	})
	if err != nil {
		return nil, 0, fmt.Errorf("find effects: %w", err)
	}
	for _, m := range made {
		if !exported[m.id] {
			later++
		}
	}
	return made, later, nil
}

// eraseFromDelivery erases the part of an exported event from its delivery, if the database keeps the
// delivery for other events. It returns the number of these events, and whether the part remains
// because it overlaps their parts or cannot be located.
func (e *Eraser) eraseFromDelivery(ctx context.Context, tx pgx.Tx, event lockedEvent, line *export.Line) (others int, remains bool, err error) {
	of := event.delivery()
	contentType, body, err := e.storedDelivery(ctx, tx, of)
	if err != nil || len(body) == 0 {
		return 0, false, err
	}
	asked := storedItems{deliveryOf: of}
	for _, one := range line.Events {
		asked.Events = append(asked.Events, one.EventRef)
	}
	rows, err := e.sql.StoredItems.With(asked).Query(ctx, tx)
	if err != nil {
		return 0, false, fmt.Errorf("find the events of the delivery: %w", err)
	}
	items, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, false, fmt.Errorf("find the events of the delivery: %w", err)
	}
	separate := event.item != "" && len(payload.Places(contentType, body, event.item, []string{""})) > 0
	switch {
	case separate:
		remains, err = e.eraseStrays(ctx, tx, of, items, event.item, body)
	case len(items) > 0:
		remains = true
	default:
		_, err = e.sql.EmptyDelivery.With(emptyDelivery{deliveryOf: of, Source: event.ref.Source}).Exec(ctx, tx)
	}
	return len(items), remains, err
}
