package find

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/internal/wildcard"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Effects selects effects. Empty fields match all.
type Effects struct {
	Destination string               `json:"destination,omitempty" find:"destination" help:"to this 'destination'" label:"Destination"`
	States      []ledger.EffectState `json:"states,omitempty" find:"state" help:"in these 'states': %s" label:"State"`
	Route       string               `json:"route,omitempty" find:"route" help:"of this 'route'" label:"Route"`
	Source      identity.Source      `json:"source,omitempty" find:"source" help:"of events of this 'source'" label:"Event source"`
	Type        string               `json:"type,omitempty" find:"type" help:"of events of this 'type', such as invoice.*" label:"Event type" hint:"invoice.*"` // event type, or a pattern of package wildcard
	Event       identity.EventRef    `json:"event,omitzero" find:"event" help:"of this event, as 'SOURCE/EVENT_ID'" label:"Event" hint:"stripe/evt_123"`        // event to which the effects are linked
	Policy      ledger.Policy        `json:"policy,omitempty" find:"policy" help:"with this 'policy': %s" label:"Policy"`
	Span
	Content
}

// Attention stands for all states in which an effect may need attention.
const Attention ledger.EffectState = "attention"

// NeedAttention returns the states that Attention stands for.
func NeedAttention() []ledger.EffectState {
	return []ledger.EffectState{ledger.EffectInDoubt, ledger.EffectParked, ledger.EffectFailed}
}

// IsZero reports whether e selects all effects.
func (e Effects) IsZero() bool { return len(Given(e)) == 0 }

// Effects finds the effects before a position, newest first, without their bodies. A limit of 0
// means 50; the maximum is 1,000. Errors: ErrCursor and *ConditionError.
func (f *Finder) Effects(ctx context.Context, asked Effects, from Cursor, limit int) (Page[ledger.Effect], error) {
	page, err := f.effects(ctx, asked, from, limit)
	if err != nil {
		return page, fmt.Errorf("list effects: %w", err)
	}
	return page, nil
}

func (f *Finder) effects(ctx context.Context, asked Effects, from Cursor, limit int) (Page[ledger.Effect], error) {
	at, err := from.effect()
	if err != nil {
		return Page[ledger.Effect]{}, err
	}
	if !asked.Until.IsZero() && (at.at.IsZero() || asked.Until.Before(at.at)) {
		at = place{at: asked.Until}
	}
	judge, budget, err := f.judgeOf(ctx, asked.Content)
	if err != nil {
		return Page[ledger.Effect]{}, err
	}
	w := walk[identity.EffectID, ledger.Effect]{
		cursor: place.ofEffect, all: asked.IsZero(), judge: judge, budget: budget,
		load: func(ctx context.Context, found []candidate[identity.EffectID]) (map[identity.EffectID]ledger.Effect, error) {
			return f.loadEffects(ctx, asked, refsOf(found))
		},
		read: func(ctx context.Context, behind place, look, limit int) (slice[identity.EffectID], error) {
			return f.effectSlice(ctx, f.sql.EffectSlice.With(effectSlice{
				effectsAskedFor: asked.args(), BeforeTime: column.TimeOrNull(behind.at), BeforeKey: behind.key, Look: look, Limit: limit,
			}))
		},
	}
	if asked.Event != (identity.EventRef{}) {
		return f.effectsOfEvent(ctx, asked, w, at, limit)
	}
	return w.page(ctx, at, min(limit, maxLimit))
}

// loadEffects loads effects and omits effects that no longer match.
func (f *Finder) loadEffects(ctx context.Context, asked Effects, ids []identity.EffectID) (map[identity.EffectID]ledger.Effect, error) {
	rows, err := f.ledger.EffectsByID(ctx, ids)
	for id, e := range rows {
		if !asked.takes(e) {
			delete(rows, id)
		}
	}
	return rows, err
}

func (f *Finder) effectSlice(ctx context.Context, sql statement.Bound) (slice[identity.EffectID], error) {
	var s slice[identity.EffectID]
	rows, err := sql.Query(ctx, f.walk)
	if err != nil {
		return s, err
	}
	var looked int
	var at *time.Time
	var key *string
	var c candidate[identity.EffectID]
	_, err = pgx.ForEachRow(rows, []any{
		&looked, &at, &key, &c.ref.Scope, &c.ref.Key, &c.ref.Generation, &c.event.Source, &c.event.EventID, &c.inDoubt, &c.unrendered,
	}, func() error {
		c.place = place{at: column.OrZero(at), key: column.OrZero(key)}
		if c.ref == (identity.EffectID{}) {
			s.looked, s.end = looked, c.place
			return nil
		}
		s.candidates = append(s.candidates, c)
		return nil
	})
	return s, err
}

// effectsOfEvent finds the effects linked to an event. It loads all of them, because an event has
// few.
func (f *Finder) effectsOfEvent(ctx context.Context, asked Effects, w walk[identity.EffectID, ledger.Effect], behind place, limit int) (Page[ledger.Effect], error) {
	var page Page[ledger.Effect]
	links, err := f.ledger.EffectsOfEvent(ctx, asked.Event)
	if err != nil {
		return page, err
	}
	ids := make([]identity.EffectID, len(links))
	for i, link := range links {
		ids[i] = link.EffectID
	}
	effects, err := f.loadEffects(ctx, asked, ids)
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
	w.load = func(context.Context, []candidate[identity.EffectID]) (map[identity.EffectID]ledger.Effect, error) {
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
	return w.page(ctx, behind, min(limit, maxLimit))
}

// takes reports whether e selects an effect, ignoring Event and Content.
func (e Effects) takes(row ledger.Effect) bool {
	return (e.Destination == "" || row.Destination == e.Destination) &&
		(len(e.States) == 0 || slices.Contains(e.States, row.State)) &&
		(e.Route == "" || row.Route == e.Route) &&
		(e.Source == "" || row.Event.Source == e.Source) &&
		(e.Type == "" || wildcard.Match(e.Type, row.EventType)) &&
		(e.Policy == "" || row.Policy == e.Policy) &&
		e.Span.contains(row.CreatedAt)
}

// effectsAskedFor are the arguments of effect_asked_for.sql.
type effectsAskedFor struct {
	States             []ledger.EffectState // nil means all
	Destination, Route string
	Source             identity.Source
	TypeLike           string // see wildcard.Like
	Policy             ledger.Policy
	Since              *time.Time
}

func (e Effects) args() effectsAskedFor {
	return effectsAskedFor{
		States: e.States, Destination: e.Destination, Route: e.Route, Source: e.Source, TypeLike: wildcard.Like(e.Type), Policy: e.Policy,
		Since: column.TimeOrNull(e.Since),
	}
}
