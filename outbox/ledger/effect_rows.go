package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// renderedEffect holds the fields of an effect that its event's plan sets, and that a plan of the
// replayed event may set again.
type renderedEffect struct {
	identity.EffectID

	Destination      string
	PlannedQueue     string
	Policy           Policy
	RequestMethod    string
	RequestURL       string
	RequestHeaders   []byte
	RequestType      string
	RequestBody      []byte
	OrderKey         string
	OnPark           OnPark
	LatestKey        string
	OccurredAt       *time.Time
	RequestRendering string
	Parked           string
	Traceparent      string
}

// effectRow is an effect as create_effects.sql reads it.
type effectRow struct {
	renderedEffect
	identity.EventRef

	birthRow

	IdempotencyKey string
	Route          string
	EventType      string
	AcceptSeq      *int64
}

// linkID identifies the link of an event to an effect.
type linkID struct {
	identity.EffectID

	AcceptSeq int64 // the event's accept_seq
}

// linkRow links an event to an effect that this event or an earlier one created.
type linkRow struct {
	linkID

	Repeats bool
}

// knownLink is a link that an earlier transaction, or an earlier statement of this one, may
// have written.
type knownLink struct {
	linkID
	identity.EventRef
}

type knownLinks struct{ Links []knownLink }

// createEffects holds the distinct effects of a batch and the links of its events to them.
type createEffects struct {
	Effects []effectRow
	Links   []linkRow
}

type renderEffects struct{ Effects []renderedEffect }

// effectRows collects effects to write.
type effectRows struct {
	createEffects

	known knownLinks // links of createEffects that may exist already
	index map[identity.EffectID]int
	begun map[identity.EffectID]begun // effects created in the state started
	// origins are the events' origins, which decide the priority of the effects' jobs.
	origins map[identity.EffectID]identity.Origin
}

// add links cause to e, and appends e unless the batch already contains its key. The parameter
// cause is nil for an effect that the application enqueues. traceparent identifies the span that
// creates the effect.
func (r *effectRows) add(e NewEffect, cause *Cause, traceparent string) error {
	_, repeats := r.index[e.EffectID]
	if cause != nil {
		id := linkID{EffectID: e.EffectID, AcceptSeq: cause.AcceptSeq}
		r.Links = append(r.Links, linkRow{linkID: id, Repeats: repeats})
		if cause.Generation > 1 || e.Route == "" {
			r.known.Links = append(r.known.Links, knownLink{linkID: id, EventRef: cause.EventRef})
		}
	}
	if repeats {
		return nil
	}
	headers, err := column.Headers(e.Request.Headers)
	if err != nil {
		return fmt.Errorf("encode headers: %w", err)
	}
	birth, err := e.birth()
	if err != nil {
		return err
	}
	row := effectRow{
		renderedEffect: renderedEffect{
			EffectID:         e.EffectID,
			Destination:      e.Destination,
			PlannedQueue:     e.Queue,
			Policy:           e.policy(),
			RequestMethod:    safetext.Storable(e.Request.Method),
			RequestURL:       safetext.Storable(e.Request.URL),
			RequestHeaders:   headers,
			RequestType:      safetext.Storable(e.Request.ContentType),
			RequestBody:      e.Request.body(),
			OrderKey:         e.orderKey(),
			OnPark:           e.onPark(),
			LatestKey:        e.LatestKey,
			OccurredAt:       e.occurred(cause),
			RequestRendering: e.rendering(),
			Parked:           column.Reason(e.Parked),
			Traceparent:      traceparent,
		},
		birthRow:       birth,
		IdempotencyKey: e.EffectID.IdempotencyKey(),
		Route:          e.Route,
	}
	if cause != nil {
		row.EventRef, row.EventType, row.AcceptSeq = cause.EventRef, cause.Type, &cause.AcceptSeq
	}
	if r.index == nil {
		r.index, r.origins = make(map[identity.EffectID]int), make(map[identity.EffectID]identity.Origin)
	}
	if cause != nil {
		r.origins[e.EffectID] = cause.Origin
	}
	r.index[e.EffectID] = len(r.Effects)
	r.Effects = append(r.Effects, row)
	return nil
}

// insert writes the effects and returns the new ones. It sets the PlannedQueue of each new effect to
// the current queue of its destination.
func (r *effectRows) insert(ctx context.Context, tx pgx.Tx, sql *statements) (map[identity.EffectID]bool, error) {
	if err := r.dropKnownLinks(ctx, tx, sql); err != nil {
		return nil, err
	}
	rows, err := sql.CreateEffects.With(r.createEffects).Query(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("create effects: %w", err)
	}
	var jobID *int64
	var leaseUntil, lastAttemptAt *time.Time
	var b begun
	created, err := r.written(rows, func(id identity.EffectID) {
		if jobID == nil {
			return
		}
		if r.begun == nil {
			r.begun = make(map[identity.EffectID]begun)
		}
		b.jobID, b.leaseUntil, b.lastAttemptAt = *jobID, column.OrZero(leaseUntil), column.OrZero(lastAttemptAt)
		r.begun[id] = b
	}, &jobID, &leaseUntil, &lastAttemptAt, &b.nextAttemptAt, &b.createdAt)
	if err != nil {
		return nil, fmt.Errorf("create effects: %w", err)
	}
	return created, nil
}

// dropKnownLinks removes the links that are already written.
func (r *effectRows) dropKnownLinks(ctx context.Context, tx pgx.Tx, sql *statements) error {
	if len(r.known.Links) == 0 {
		return nil
	}
	rows, err := sql.KnownLinks.With(r.known).Query(ctx, tx)
	if err != nil {
		return fmt.Errorf("look up links: %w", err)
	}
	there := make(map[linkID]bool)
	var id linkID
	if _, err := pgx.ForEachRow(rows, []any{&id.AcceptSeq, &id.Scope, &id.Key, &id.Generation}, func() error {
		there[id] = true
		return nil
	}); err != nil {
		return fmt.Errorf("look up links: %w", err)
	}
	r.Links = slices.DeleteFunc(r.Links, func(link linkRow) bool { return there[link.linkID] })
	return nil
}

// render gives the content in r to those effects that an earlier plan could not render. It returns
// the changed effects.
func (r *effectRows) render(ctx context.Context, tx pgx.Tx, sql *statements) (map[identity.EffectID]bool, error) {
	var again renderEffects
	for _, row := range r.Effects {
		again.Effects = append(again.Effects, row.renderedEffect)
	}
	rows, err := sql.RenderEffects.With(again).Query(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("render effects again: %w", err)
	}
	rendered, err := r.written(rows, func(identity.EffectID) {})
	if err != nil {
		return nil, fmt.Errorf("render effects again: %w", err)
	}
	return rendered, nil
}

// written reads the effects that a statement wrote and the queue of each. It also scans the given
// columns, and calls read after each row.
func (r *effectRows) written(rows pgx.Rows, read func(identity.EffectID), columns ...any) (map[identity.EffectID]bool, error) {
	ids := make(map[identity.EffectID]bool)
	var id identity.EffectID
	var queue string
	_, err := pgx.ForEachRow(rows, append([]any{&id.Scope, &id.Key, &id.Generation, &queue}, columns...), func() error {
		ids[id] = true
		r.Effects[r.index[id]].PlannedQueue = queue
		read(id)
		return nil
	})
	return ids, err
}

func (r effectRow) order() orderKey { return orderKey{Scope: r.Scope, OrderKey: r.OrderKey} }

func (r effectRow) job() riverjob.EffectJob {
	return riverjob.EffectJob{
		ID:          r.EffectID,
		Destination: r.Destination,
		Queue:       r.PlannedQueue,
		Event:       r.EventRef,
		EventType:   r.EventType,
		Traceparent: r.Traceparent,
	}
}
