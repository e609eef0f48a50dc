package find

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/internal/column"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/wildcard"
)

// Attention is the word that asks for EffectFilter.Attention where states are named.
const Attention ledger.EffectState = "attention"

// InState asks for a state besides, or for Attention.
func (f EffectFilter) InState(word ledger.EffectState) EffectFilter {
	f.State, f.Attention = word, word == Attention
	if f.Attention {
		f.State = ""
	}
	return f
}

// EffectFilter selects effects. Empty fields take all.
type EffectFilter struct {
	State       ledger.EffectState
	Attention   bool // those that may need a person: in doubt, parked or failed
	Destination string
	Route       string
	Source      identity.Source   // of the event that made it
	Type        string            // of that event, or a pattern of package wildcard
	Event       identity.EventRef // effects the event is linked to
	Since       time.Time         // made at or after
	Until       time.Time         // made before
	Match       *Match            // what is in the event that made it; what no event made does not match
}

// Effects finds effects from a place back, the newest first, without their bodies:
// limit of them, or 50 when it is 0, and 1,000 at most.
func (b *Finder) Effects(ctx context.Context, f EffectFilter, from Cursor, limit int) (Page[ledger.Effect], error) {
	page, err := b.effects(ctx, f, from, limit)
	if err != nil {
		return page, fmt.Errorf("list effects: %w", err)
	}
	return page, nil
}

func (b *Finder) effects(ctx context.Context, f EffectFilter, from Cursor, limit int) (Page[ledger.Effect], error) {
	at, err := from.effect()
	if err != nil {
		return Page[ledger.Effect]{}, err
	}
	if !f.Until.IsZero() && (at.at.IsZero() || f.Until.Before(at.at)) {
		at = place{at: f.Until}
	}
	w := walk[identity.EffectID, ledger.Effect]{
		cursor: place.ofEffect, all: f == (EffectFilter{}), judge: b.judgeBy(f.Match), budget: b.plain,
		read: func(ctx context.Context, behind place, look, limit int) (slice[identity.EffectID], error) {
			return b.effectSlice(ctx, f, behind, look, limit)
		},
		load: func(ctx context.Context, ids []identity.EffectID) (map[identity.EffectID]ledger.Effect, error) {
			return b.loadEffects(ctx, f, ids)
		},
	}
	if f.Match != nil {
		w.budget = b.matched
	}
	if f.Event != (identity.EventRef{}) {
		return b.effectsOfEvent(ctx, f, w, at, limit)
	}
	return w.page(ctx, at, limit)
}

// loadEffects loads those that are still what is asked for.
func (b *Finder) loadEffects(ctx context.Context, f EffectFilter, ids []identity.EffectID) (map[identity.EffectID]ledger.Effect, error) {
	rows, err := b.ledger.EffectsByID(ctx, ids)
	for id, e := range rows {
		if !f.takes(e) {
			delete(rows, id)
		}
	}
	return rows, err
}

func (b *Finder) effectSlice(ctx context.Context, f EffectFilter, behind place, look, limit int) (slice[identity.EffectID], error) {
	var s slice[identity.EffectID]
	rows, err := b.sql.EffectSlice.With(effectSlice{
		State: f.State, Attention: f.Attention, Destination: f.Destination, Route: f.Route, Source: f.Source, TypeLike: wildcard.Like(f.Type), Since: column.TimeOrNull(f.Since),
		BeforeTime: column.TimeOrNull(behind.at), BeforeKey: behind.key, Look: look, Limit: limit,
	}).Query(ctx, b.walk)
	if err != nil {
		return s, err
	}
	var looked int
	var at *time.Time
	var key *string
	var id identity.EffectID
	var event identity.EventRef
	_, err = pgx.ForEachRow(rows, []any{&looked, &at, &key, &id.Scope, &id.Key, &id.Generation, &event.Source, &event.EventID}, func() error {
		here := place{at: column.OrZero(at), key: column.OrZero(key)}
		if id == (identity.EffectID{}) {
			s.looked, s.end = looked, here
			return nil
		}
		s.candidates = append(s.candidates, candidate[identity.EffectID]{ref: id, place: here, event: event})
		return nil
	})
	return s, err
}

// effectsOfEvent finds the effects that an event is linked to, which there are few of.
func (b *Finder) effectsOfEvent(ctx context.Context, f EffectFilter, w walk[identity.EffectID, ledger.Effect], behind place, limit int) (Page[ledger.Effect], error) {
	var page Page[ledger.Effect]
	links, err := b.ledger.EffectsOfEvent(ctx, f.Event)
	if err != nil {
		return page, err
	}
	ids := make([]identity.EffectID, len(links))
	for i, link := range links {
		ids[i] = link.EffectID
	}
	effects, err := b.loadEffects(ctx, f, ids)
	if err != nil {
		return page, err
	}
	var all []candidate[identity.EffectID]
	for id, e := range effects {
		all = append(all, candidate[identity.EffectID]{ref: id, place: place{at: e.CreatedAt, key: e.IdempotencyKey}, event: e.Event})
	}
	slices.SortFunc(all, func(x, y candidate[identity.EffectID]) int {
		return -cmp.Or(x.place.at.Compare(y.place.at), cmp.Compare(x.place.key, y.place.key))
	})
	w.load = func(context.Context, []identity.EffectID) (map[identity.EffectID]ledger.Effect, error) {
		return effects, nil
	}
	w.read = func(_ context.Context, behind place, look, limit int) (slice[identity.EffectID], error) {
		left := all
		if !behind.at.IsZero() {
			left = slices.DeleteFunc(slices.Clone(all), func(c candidate[identity.EffectID]) bool {
				return cmp.Or(c.place.at.Compare(behind.at), cmp.Compare(c.place.key, behind.key)) >= 0
			})
		}
		left = left[:min(len(left), look)]
		s := slice[identity.EffectID]{looked: len(left), candidates: left[:min(len(left), limit)]}
		if len(left) > 0 {
			s.end = left[len(left)-1].place
		}
		return s, nil
	}
	return w.page(ctx, behind, limit)
}

// takes tells whether an effect is asked for, its event and Match aside.
func (f EffectFilter) takes(e ledger.Effect) bool {
	return (f.State == "" || e.State == f.State) &&
		(!f.Attention || e.State == ledger.EffectInDoubt || e.State == ledger.EffectParked || e.State == ledger.EffectFailed) &&
		(f.Destination == "" || e.Destination == f.Destination) &&
		(f.Route == "" || e.Route == f.Route) &&
		(f.Source == "" || e.Event.Source == f.Source) &&
		(f.Type == "" || wildcard.Match(f.Type, e.EventType)) &&
		!e.CreatedAt.Before(f.Since) &&
		(f.Until.IsZero() || e.CreatedAt.Before(f.Until))
}
