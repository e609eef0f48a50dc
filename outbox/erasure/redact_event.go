package erasure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/jsonpointer"
	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/payload"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// redactEvent redacts an event whose work has ended, or notes that it waits.
func (e *Eraser) redactEvent(ctx context.Context, tx pgx.Tx, r Redaction, ref identity.EventRef, came *Redacted, of *jobsOf) error {
	event, err := e.lock(ctx, tx, ref)
	if errors.Is(err, ledger.ErrNotFound) { // retention deleted it first
		_, err = e.sql.NotWaiting.With(ref).Exec(ctx, tx)
		return err
	}
	if err != nil {
		return err
	}
	made, err := e.madeBy(ctx, tx, ref)
	if err != nil {
		return err
	}
	if !event.isOver(made, r.After) {
		came.Waiting++
		_, err := e.sql.NoteWaiting.With(ref).Exec(ctx, tx)
		return err
	}
	if event.erasedAt == nil {
		if err := e.redactBody(ctx, tx, event, r.Pointers); err != nil {
			return err
		}
		var effects, others int
		what := eraseEvent{EventRef: ref, Note: "redacted", Redacting: true}
		if err := e.sql.EraseEvent.With(what).QueryRow(ctx, tx).Scan(&effects, &others); err != nil {
			return fmt.Errorf("erase texts of effects: %w", err)
		}
		came.Events++
		of.add(jobsOf{events: []identity.EventRef{ref}, effects: idsOf(made)})
	}
	if _, err := e.sql.NotWaiting.With(ref).Exec(ctx, tx); err != nil {
		return fmt.Errorf("record that it no longer waits: %w", err)
	}
	return nil
}

// isOver reports whether the event and all its effects are finished, and the last of them finished
// at least the given time ago.
func (l lockedEvent) isOver(made []madeEffect, after time.Duration) bool {
	ended := l.receivedAt
	if l.processedAt != nil && l.processedAt.After(ended) {
		ended = *l.processedAt
	}
	for _, m := range made {
		if !m.finished() {
			return false
		}
		if m.finishedAt != nil && m.finishedAt.After(ended) {
			ended = *m.finishedAt
		}
	}
	return !l.waits() && !ended.Add(after).After(l.now)
}

func (e *Eraser) redactBody(ctx context.Context, tx pgx.Tx, event lockedEvent, pointers []string) error {
	of := event.delivery()
	contentType, body, err := e.storedDelivery(ctx, tx, of)
	if err == nil && len(body) > 0 && event.item != "" { // erase parts that belong to no event
		var items []string
		if items, err = e.itemsOf(ctx, tx, firstOfDelivery{deliveryOf: of, AcceptSeq: event.acceptSeq}); err != nil {
			return err
		}
		if _, err = e.eraseStrays(ctx, tx, of, items, event.item, body); err == nil {
			contentType, body, err = e.storedDelivery(ctx, tx, of)
		}
	}
	if err != nil || len(body) == 0 {
		return err
	}
	kind, word := blotJSON, `"redacted"`
	switch payload.KindOf(contentType, body) {
	case payload.JSON:
	case payload.Form:
		kind, word = blotForm, "redacted"
	case payload.Other:
		e.logger.WarnContext(ctx, "a body that is neither JSON nor a form was erased completely, because its values cannot be redacted",
			slog.String(logkey.Source, string(event.ref.Source)), slog.String(logkey.EventID, string(event.ref.EventID)))
		whole := emptyDelivery{deliveryOf: of, Source: event.ref.Source}
		_, err := e.sql.EmptyDelivery.With(whole).Exec(ctx, tx)
		return err
	}
	places := payload.Places(contentType, body, event.item, pointers)
	places = slices.DeleteFunc(places, func(p jsonpointer.Place) bool { return string(body[p.Start:p.End]) == word })
	if len(places) == 0 {
		return nil
	}
	return e.blot(ctx, tx, of, body, places, kind)
}
