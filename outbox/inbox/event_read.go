package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Event loads an event and its delivery, with a statement that concurrent calls may share. Headers
// and Body are nil if the delivery is not stored: retention deleted it, or the event was imported.
// Errors: ErrNotFound, ErrUnavailable.
func (i *Inbox) Event(ctx context.Context, ref identity.EventRef) (*Event, error) {
	stored, found, err := i.events.Get(ctx, ref)
	switch {
	case err != nil:
		return nil, fmt.Errorf("load event %s: %w", ref, err)
	case !found:
		return nil, fmt.Errorf("load event %s: %w", ref, ledger.ErrNotFound)
	case !stored.bodyApart:
		return stored.event, nil
	}
	var e *Event
	err = i.db.Statement("event", func(db pipeline.ByIndex) (err error) {
		e, err = i.event(ctx, db, ref)
		return err
	})
	return e, err
}

// storedEvent is an event as a shared statement returned it.
type storedEvent struct {
	event     *Event
	bodyApart bool // the statement omitted the body, because it is large
}

func (i *Inbox) storedEvents(ctx context.Context, refs []identity.EventRef) (stored map[identity.EventRef]storedEvent, err error) {
	err = i.db.Statement("events", func(db pipeline.ByIndex) error {
		stored, err = i.collectEvents(ctx, db, refs)
		return err
	})
	return stored, err
}

func (i *Inbox) collectEvents(ctx context.Context, db statement.DB, refs []identity.EventRef) (map[identity.EventRef]storedEvent, error) {
	rows, err := i.sql.Events.With(askedEvents{Asked: refs}).Query(ctx, db)
	if err != nil {
		return nil, err
	}
	var apart bool
	collected, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (storedEvent, error) {
		e, err := scanEvent(row, &apart)
		return storedEvent{event: e, bodyApart: apart}, err
	})
	stored := make(map[identity.EventRef]storedEvent, len(refs))
	for _, s := range collected {
		stored[s.event.EventRef] = s
	}
	return stored, err
}

func (i *Inbox) event(ctx context.Context, db statement.DB, ref identity.EventRef) (*Event, error) {
	rows, err := i.sql.Event.With(ref).Query(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("load event %s: %w", ref, err)
	}
	e, err := pgx.CollectExactlyOneRow(rows, scanWholeEvent)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("load event %s: %w", ref, ledger.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("load event %s: %w", ref, err)
	}
	return e, nil
}

// EventsByRef loads events for display to operators, without headers and bodies. It uses one
// statement, which looks up each event by its key. Deleted events are missing from the result.
func (i *Inbox) EventsByRef(ctx context.Context, refs []identity.EventRef) (map[identity.EventRef]*Event, error) {
	rows, err := i.sql.EventRows.With(askedEvents{Asked: refs}).Query(ctx, pipeline.ByIndex{Sender: i.readPool})
	if err != nil {
		return nil, fmt.Errorf("load events: %w", err)
	}
	events := make(map[identity.EventRef]*Event, len(refs))
	found, err := pgx.CollectRows(rows, scanWholeEvent)
	if err != nil {
		return nil, fmt.Errorf("load events: %w", err)
	}
	for _, e := range found {
		events[e.EventRef] = e
	}
	return events, nil
}

// WholeEvents contains events with their headers and their small bodies. It is for one goroutine.
type WholeEvents struct {
	inbox  *Inbox
	stored map[identity.EventRef]storedEvent
}

// EventsWhole loads events for display to operators, with their headers and bodies, which may come
// from the export. Large bodies are loaded by Get.
func (i *Inbox) EventsWhole(ctx context.Context, refs []identity.EventRef) (*WholeEvents, error) {
	stored, err := i.collectEvents(ctx, pipeline.ByIndex{Sender: i.readPool, Once: true}, refs)
	if err != nil {
		return nil, fmt.Errorf("load events: %w", err)
	}
	return &WholeEvents{inbox: i, stored: stored}, nil
}

// Get returns an event, or nil if it was deleted. The caller should use it before the next call: each
// large body is loaded anew, so that only one of them is in memory.
func (w *WholeEvents) Get(ctx context.Context, ref identity.EventRef) (*Event, error) {
	s, found := w.stored[ref]
	switch {
	case !found:
		return nil, nil
	case !s.bodyApart:
		whole := *s.event
		return &whole, w.inbox.fill(ctx, &whole)
	}
	e, err := w.inbox.event(ctx, pipeline.ByIndex{Sender: w.inbox.readPool}, ref)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, nil
	}
	return e, err
}

func scanWholeEvent(row pgx.CollectableRow) (*Event, error) { return scanEvent(row) }

// scanEvent scans an event. It scans the statement's further columns into added.
func scanEvent(row pgx.CollectableRow, added ...any) (*Event, error) {
	var e Event
	var occurredAt, processedAt, lastDuplicateAt, erasedAt, redactedAt *time.Time
	var headers []byte
	var contentType, onlyRoute, before *string
	var newKeys *bool
	if err := row.Scan(append([]any{
		&e.Source, &e.EventID, &e.Provider, &e.Type, &e.APIVersion, &occurredAt, &e.ReceivedAt,
		&e.AcceptSeq, &e.AcceptanceID, &e.DeliveryID, &e.Item, &e.Traceparent,
		&e.Outcome, &e.Generation, &e.EffectGeneration, &processedAt, &e.ConfigHash, &e.Error,
		&e.Duplicates, &lastDuplicateAt, &e.BodyDiffers, &e.DuplicateTimes,
		&e.ReplaySuspect, &e.RetryNumber, &e.RetryReason, &erasedAt, &redactedAt, &e.Origin, &e.Altered,
		&headers, &contentType, &e.Body,
		&onlyRoute, &newKeys, &before,
	}, added...)...); err != nil {
		return nil, err
	}
	if headers != nil {
		if err := json.Unmarshal(headers, &e.Headers); err != nil {
			return nil, fmt.Errorf("decode headers: %w", err)
		}
	}
	e.OccurredAt, e.ProcessedAt, e.LastDuplicateAt = column.OrZero(occurredAt), column.OrZero(processedAt), column.OrZero(lastDuplicateAt)
	e.ErasedAt, e.RedactedAt = column.OrZero(erasedAt), column.OrZero(redactedAt)
	e.ContentType = column.OrZero(contentType)
	if e.OnlyRoute, e.Before = column.OrZero(onlyRoute), Outcome(column.OrZero(before)); column.OrZero(newKeys) {
		e.EffectGeneration = e.Generation // only this route gets new keys: the row keeps its effect_generation
	}
	return &e, nil
}
