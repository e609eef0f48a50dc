package find

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/internal/wildcard"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Events selects events. Empty fields match all.
type Events struct {
	Source  identity.Source  `json:"source,omitempty" find:"source" help:"of this 'source'" label:"Source"`
	Type    string           `json:"type,omitempty" find:"type" help:"of this 'type', such as invoice.paid or invoice.*" label:"Type" hint:"invoice.*"` // event type, or a pattern of package wildcard
	State   inbox.Outcome    `json:"state,omitempty" find:"state" help:"in this 'state': %s" label:"State"`
	Effects []EffectsIn      `json:"effects,omitempty" find:"effects" help:"with effects in these 'states': %s" label:"Effects"`
	Has     []Attribute      `json:"has,omitempty" find:"has" help:"with all given 'attributes' (allowed: %s)" label:"Has"`
	ID      identity.EventID `json:"id,omitempty" find:"id" help:"with this 'id', of any source" label:"ID"` // id in any source, unless Source is set
	Span
	Content

	// states applies if State is empty, for actions that accept only some states.
	states []inbox.Outcome
}

// Attribute is a property that an event may have.
type Attribute string

// The attributes of events.
const (
	Duplicates Attribute = "duplicates" // the event was delivered again
	Differs    Attribute = "differs"    // the event was delivered again with another body
	Retry      Attribute = "retry"      // the sender marked the accepted delivery as a retry
	Suspect    Attribute = "suspect"    // the event's proof was used before, under another id
)

// EffectsIn selects events by the state of their effects: events with at least one effect in this
// state.
type EffectsIn ledger.EffectState

// NoEffects selects events without effects.
const NoEffects EffectsIn = "none"

// effectsIn returns the values of EffectsIn, except Attention.
func effectsIn() []EffectsIn {
	var list []EffectsIn
	for _, state := range ledger.WorstFirst() {
		list = append(list, EffectsIn(state))
	}
	return append(list, NoEffects)
}

// selects reports whether one of the values selects an event with these effects. Without values, it
// returns true.
func selects(asked []EffectsIn, effects ledger.StateCounts) bool {
	return len(asked) == 0 || slices.ContainsFunc(asked, func(in EffectsIn) bool {
		if in == NoEffects {
			return len(effects) == 0
		}
		return effects[ledger.EffectState(in)] > 0
	})
}

// IsZero reports whether e selects all events.
func (e Events) IsZero() bool { return len(Given(e)) == 0 && e.states == nil }

// In returns e restricted to these states, or e itself if State is set.
func (e Events) In(states ...inbox.Outcome) Events {
	if e.State == "" {
		e.states = states
	}
	return e
}

// has reports whether e requires an attribute.
func (e Events) has(a Attribute) bool { return slices.Contains(e.Has, a) }

// overlap is the maximum time by which an event may be older than an event with a lower position.
// An event gets its position when it is inserted, but its time is the time at which its transaction
// began.
const overlap = time.Minute

// Events finds the events before a position, newest first, without headers and bodies. A limit of 0
// means 50; the maximum is 1,000. Errors: ErrCursor and *ConditionError.
func (f *Finder) Events(ctx context.Context, asked Events, from Cursor, limit int) (Page[*inbox.Event], error) {
	page, err := f.events(ctx, asked, from, limit, oldestEvent)
	if err != nil {
		return page, fmt.Errorf("list events: %w", err)
	}
	return page, nil
}

// events is like Events, but walks back no further than the position floor.
func (f *Finder) events(ctx context.Context, asked Events, from Cursor, limit int, floor int64) (Page[*inbox.Event], error) {
	at, err := from.event(newestEvent)
	if err != nil {
		return Page[*inbox.Event]{}, err
	}
	w, err := f.eventWalk(ctx, asked)
	if err != nil {
		return Page[*inbox.Event]{}, err
	}
	if asked.ID != "" {
		return f.eventsOfID(ctx, asked, w.judge)
	}
	since := int64(firstAccepted)
	if !asked.Until.IsZero() {
		end, err := f.placeOf(ctx, asked.Until.Add(overlap))
		if err != nil {
			return Page[*inbox.Event]{}, err
		}
		at.acceptSeq = min(at.acceptSeq, end)
	}
	if !asked.Since.IsZero() {
		if since, err = f.placeOf(ctx, asked.Since.Add(-overlap)); err != nil {
			return Page[*inbox.Event]{}, err
		}
	}
	since = max(since, floor)
	w.read = func(ctx context.Context, behind place, look, limit int) (slice[identity.EventRef], error) {
		return f.eventsBack(ctx, eventSlice{
			askedFor: asked.args(), Before: behind.acceptSeq, DownTo: since, Look: look, Limit: limit,
		}, floor)
	}
	return w.page(ctx, at, min(limit, maxLimit))
}

// eventsBack reads accepted events first, and then imported events down to floor. DownTo does not
// limit imported events, because their times do not follow their positions.
func (f *Finder) eventsBack(ctx context.Context, args eventSlice, floor int64) (slice[identity.EventRef], error) {
	var s slice[identity.EventRef]
	look, limit := args.Look, args.Limit
	if args.Before > firstAccepted {
		var err error
		if s, err = f.eventSlice(ctx, f.sql.EventSlice.With(args)); err != nil || s.looked == look || floor >= firstAccepted {
			return s, err
		}
	}
	args.Before, args.DownTo = min(args.Before, firstAccepted), floor
	args.Look, args.Limit = look-s.looked, limit-len(s.candidates)
	imported, err := f.eventSlice(ctx, f.sql.EventSlice.With(args))
	if err != nil || imported.looked == 0 {
		return s, err
	}
	imported.candidates = append(s.candidates, imported.candidates...)
	imported.looked += s.looked
	return imported, nil
}

// eventWalk returns a walk over events. The caller must set its read function.
func (f *Finder) eventWalk(ctx context.Context, asked Events) (walk[identity.EventRef, *inbox.Event], error) {
	judge, budget, err := f.judgeOf(ctx, asked.Content)
	return walk[identity.EventRef, *inbox.Event]{
		cursor: place.ofEvent, all: asked.IsZero(), judge: judge, budget: budget,
		load: func(ctx context.Context, found []candidate[identity.EventRef]) (map[identity.EventRef]*inbox.Event, error) {
			rows, err := f.loadEvents(ctx, refsOf(found))
			for ref, e := range rows {
				if !asked.takes(e) { // the event changed meanwhile
					delete(rows, ref)
				}
			}
			return rows, err
		},
	}, err
}

// loadEvents loads events without headers and bodies, and counts their effects.
func (f *Finder) loadEvents(ctx context.Context, refs []identity.EventRef) (map[identity.EventRef]*inbox.Event, error) {
	rows, err := f.inbox.EventsByRef(ctx, refs)
	if err != nil {
		return nil, err
	}
	counts, err := f.ledger.StatesOfEvents(ctx, refs)
	if sqlstate.Is(err, sqlstate.InsufficientPrivilege) {
		return rows, nil // a gateway's role may have only the rights for an older version: the states are then unknown
	}
	if err != nil {
		return nil, err
	}
	for ref, e := range rows {
		e.EffectStates = counts[ref]
	}
	return rows, nil
}

func (f *Finder) eventSlice(ctx context.Context, sql statement.Bound) (slice[identity.EventRef], error) {
	var s slice[identity.EventRef]
	rows, err := sql.Query(ctx, f.walk)
	if err != nil {
		return s, err
	}
	var looked int
	var seq *int64
	var at *time.Time
	var ref identity.EventRef
	var deliveryID *uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&looked, &seq, &at, &ref.Source, &ref.EventID, &deliveryID}, func() error {
		here := place{acceptSeq: column.OrZero(seq), at: column.OrZero(at)}
		if ref == (identity.EventRef{}) {
			s.looked, s.end = looked, here
			return nil
		}
		s.candidates = append(s.candidates, candidate[identity.EventRef]{ref: ref, place: here, event: ref, deliveryID: column.OrZero(deliveryID)})
		return nil
	})
	return s, err
}

// eventsOfID finds the events with an id. At most one exists per source.
func (f *Finder) eventsOfID(ctx context.Context, asked Events, judge *judge) (Page[*inbox.Event], error) {
	var page Page[*inbox.Event]
	sources := []identity.Source{asked.Source}
	if asked.Source == "" {
		var err error
		if sources, err = f.sources(ctx); err != nil {
			return page, err
		}
	}
	refs := make([]identity.EventRef, len(sources))
	for i, source := range sources {
		refs[i] = identity.EventRef{Source: source, EventID: asked.ID}
	}
	found, err := f.loadEvents(ctx, refs)
	if err != nil {
		return page, err
	}
	var whole *inbox.WholeEvents // nil without a judge
	if judge != nil {
		if whole, err = f.inbox.EventsWhole(ctx, refs); err != nil {
			return page, err
		}
	}
	for _, e := range found {
		yes := asked.takes(e)
		if yes && judge != nil {
			w, err := whole.Get(ctx, e.EventRef)
			if err != nil {
				return page, err
			}
			yes = w != nil
			if yes {
				yes, _ = judge.decide(w) // judge counts the events that it cannot decide
			}
		}
		if yes {
			page.Rows = append(page.Rows, e)
		}
	}
	slices.SortFunc(page.Rows, func(x, y *inbox.Event) int {
		if c := y.ReceivedAt.Compare(x.ReceivedAt); c != 0 {
			return c
		}
		return strings.Compare(string(x.Source), string(y.Source))
	})
	for _, e := range page.Rows {
		e.Headers, e.Body = nil, nil
		page.Cursors = append(page.Cursors, place{acceptSeq: e.AcceptSeq}.ofEvent())
	}
	page.judgedBy(judge)
	page.Looked = len(found)
	return page, nil
}

func (f *Finder) sources(ctx context.Context) ([]identity.Source, error) {
	rows, err := f.sql.Sources.Query(ctx, f.look)
	if err != nil {
		return nil, fmt.Errorf("find sources: %w", err)
	}
	sources, err := pgx.CollectRows(rows, pgx.RowTo[identity.Source])
	if err != nil {
		return nil, fmt.Errorf("find sources: %w", err)
	}
	return sources, nil
}

// inStates returns the selected states; nil means all.
func (e Events) inStates() []inbox.Outcome {
	if e.State != "" {
		return []inbox.Outcome{e.State}
	}
	return e.states
}

// takes reports whether e selects an event, ignoring Content.
func (e Events) takes(row *inbox.Event) bool {
	states := e.inStates()
	return (e.Source == "" || row.Source == e.Source) &&
		(e.Type == "" || wildcard.Match(e.Type, row.Type)) &&
		(e.ID == "" || row.EventID == e.ID) &&
		(states == nil || slices.Contains(states, row.Outcome)) &&
		selects(e.Effects, row.EffectStates) &&
		(!e.has(Duplicates) || row.Duplicates > 0) &&
		(!e.has(Differs) || row.BodyDiffers) &&
		(!e.has(Retry) || row.RetryNumber > 0) &&
		(!e.has(Suspect) || row.ReplaySuspect) &&
		e.Span.contains(row.ReceivedAt)
}

// askedFor are the arguments of event_asked_for.sql.
type askedFor struct {
	Source       identity.Source
	TypeLike     string // see wildcard.Like
	EventID      identity.EventID
	States       []inbox.Outcome // nil means all
	EffectsIn    []EffectsIn     // nil means all
	Duplicated   bool
	Differs      bool
	Retried      bool
	Suspect      bool
	Since, Until *time.Time
}

func (e Events) args() askedFor {
	return askedFor{
		Source: e.Source, TypeLike: wildcard.Like(e.Type), EventID: e.ID, States: e.inStates(),
		EffectsIn: e.Effects, Duplicated: e.has(Duplicates), Differs: e.has(Differs), Retried: e.has(Retry), Suspect: e.has(Suspect),
		Since: column.TimeOrNull(e.Since), Until: column.TimeOrNull(e.Until),
	}
}

// placeOf returns the position of the first accepted event that was received at a time or later. If
// there is none, it returns the position after the last event.
func (f *Finder) placeOf(ctx context.Context, at time.Time) (int64, error) {
	var seq int64
	if err := f.sql.EventPlace.With(eventPlace{At: at}).QueryRow(ctx, f.walk).Scan(&seq); err != nil {
		return 0, fmt.Errorf("find the time: %w", err)
	}
	return seq, nil
}
