package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/plainjson"
	"github.com/hooklatch/hooklatch/outbox/export"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Recalled holds the effects and replays of an exported event.
type Recalled struct {
	Effects json.RawMessage // for ledger.Ledger.Recall
	Replays []EventReplay
}

// Recall is like Event, but for operators: it uses none of the workers' connections. It also reads
// the export if the event or its delivery is no longer stored. Errors: ErrNotFound, and errors of
// the database and of the export's storage.
func (i *Inbox) Recall(ctx context.Context, ref identity.EventRef) (*Event, error) {
	e, more, err := i.Stored(ctx, ref)
	switch {
	case !more:
		return e, err
	case err != nil:
		exported, readErr := i.exported(ctx, ref, time.Time{})
		if readErr != nil || exported != nil {
			return exported, readErr
		}
		return nil, err
	}
	return e, i.fill(ctx, e)
}

// Stored is like Recall, but does not read the export. The result more is true if the export may
// have the event or the delivery that the database no longer stores; more can be true together with
// ErrNotFound.
func (i *Inbox) Stored(ctx context.Context, ref identity.EventRef) (e *Event, more bool, err error) {
	e, err = i.event(ctx, pipeline.ByIndex{Sender: i.readPool}, ref)
	if err != nil {
		return nil, i.export != nil && errors.Is(err, ledger.ErrNotFound), err
	}
	return e, i.lacks(e), nil
}

// lacks reports whether the export may have the delivery of an event, because the database no longer
// stores it.
func (i *Inbox) lacks(e *Event) bool {
	return i.export != nil && e.Headers == nil && e.Outcome != Imported
}

// fill reads the delivery of an event from the export, if the database no longer stores the
// delivery.
func (i *Inbox) fill(ctx context.Context, e *Event) error {
	if !i.lacks(e) {
		return nil
	}
	exported, err := i.exported(ctx, e.EventRef, e.ReceivedAt)
	if err == nil && exported != nil && exported.DeliveryID == e.DeliveryID {
		e.Headers, e.ContentType, e.Body, e.ExportedDay = exported.Headers, exported.ContentType, exported.Body, exported.ExportedDay
	}
	return err
}

// exported reads an event from the export of a day, or of any day if day is zero. It returns nil if
// the export has no such event.
func (i *Inbox) exported(ctx context.Context, ref identity.EventRef, day time.Time) (*Event, error) {
	found, err := i.export.Find(ctx, ref, day)
	if err != nil || found == nil {
		return nil, err
	}
	decoded, err := i.Decode(ctx, []*export.Found{found})
	if err != nil {
		return nil, err
	}
	return decoded[0], nil
}

// Decode returns exported events with their headers and bodies, in the order of the parameter
// found.
func (i *Inbox) Decode(ctx context.Context, found []*export.Found) ([]*Event, error) {
	asked := make([]exportedRows, len(found))
	for n, f := range found {
		asked[n] = exportedRows{Event: f.Event.Row, Delivery: f.Line.Delivery}
	}
	text, err := plainjson.Marshal(asked)
	if err != nil {
		return nil, fmt.Errorf("decode exported events: %w", err)
	}
	rows, err := i.sql.ExportedEvents.With(exportedEvents{text}).Query(ctx, pipeline.ByIndex{Sender: i.readPool})
	if err != nil {
		return nil, fmt.Errorf("decode exported events: %w", err)
	}
	events, err := pgx.CollectRows(rows, scanWholeEvent)
	if err != nil {
		return nil, fmt.Errorf("decode exported events: %w", err)
	}
	for n, e := range events {
		f := found[n]
		e.Body = append([]byte{}, f.Line.Body...) // not nil even if empty: nil would mean that the body is lost
		e.ExportedDay = f.Day.Format(time.DateOnly)
		e.Recalled = &Recalled{Effects: f.Event.Effects}
		if err := json.Unmarshal(f.Event.Replays, &e.Recalled.Replays); err != nil {
			return nil, fmt.Errorf("decode exported event %s: %w", e.EventRef, err)
		}
		e.EffectStates = ledger.StateCounts{}
		for _, state := range f.Event.EffectStates() {
			e.EffectStates[ledger.EffectState(state)]++
		}
	}
	return events, nil
}
