package find

import (
	"context"
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// Settled is the age at which EventsOnward returns an event. Positions are assigned when events are
// inserted, so an event may be committed after another event with a later position. A reader that
// has already passed the position of the first event would never see that event.
const Settled = time.Minute

// EventsOnward finds the events after a position, oldest first. It is the counterpart of Events. A
// walk from the beginning, page after page, returns each event once, when the event is at least as
// old as Settled. It may miss events that are imported later. It may also miss an event that
// AcceptTx inserts in a caller's transaction that takes longer than Settled. A limit of 0 means 50;
// the maximum is 1,000. Errors: ErrCursor and *ConditionError.
func (f *Finder) EventsOnward(ctx context.Context, asked Events, from Cursor, limit int) (Page[*inbox.Event], error) {
	w, err := f.eventWalk(ctx, asked)
	if err != nil {
		return Page[*inbox.Event]{}, fmt.Errorf("list events onward: %w", err)
	}
	settles := Settled.Seconds()
	page, err := eventsOnward(ctx, f, w, asked, from, min(limit, maxLimit), eventSliceOnward{UpTo: newestEvent, SettlesInSeconds: &settles})
	if err != nil {
		return page, fmt.Errorf("list events onward: %w", err)
	}
	return page, nil
}

// eventsOnward walks onward with rows of any kind. end contains the arguments shared by all slices.
func eventsOnward[Row any](ctx context.Context, f *Finder, w walk[identity.EventRef, Row], asked Events, from Cursor, limit int, end eventSliceOnward) (Page[Row], error) {
	at, err := from.event(oldestEvent)
	if err != nil {
		return Page[Row]{}, err
	}
	since := int64(firstAccepted)
	if !asked.Since.IsZero() {
		if since, err = f.placeOf(ctx, asked.Since.Add(-overlap)); err != nil {
			return Page[Row]{}, err
		}
	}
	if !asked.Until.IsZero() {
		until, err := f.placeOf(ctx, asked.Until.Add(overlap))
		if err != nil {
			return Page[Row]{}, err
		}
		end.UpTo = min(end.UpTo, until)
	}
	end.askedFor = asked.args()
	w.read = func(ctx context.Context, behind place, look, limit int) (slice[identity.EventRef], error) {
		args := end
		args.After, args.Look, args.Limit = behind.acceptSeq, look, limit
		return f.eventsAhead(ctx, args, since)
	}
	return w.page(ctx, at, limit)
}

// eventsAhead reads all imported events first, and then events accepted at the position since or
// later. Since does not limit imported events, because their times do not follow their positions.
func (f *Finder) eventsAhead(ctx context.Context, args eventSliceOnward, since int64) (slice[identity.EventRef], error) {
	var s slice[identity.EventRef]
	look, limit := args.Look, args.Limit
	if args.After < firstAccepted-1 {
		imported := args
		imported.UpTo = firstAccepted
		var err error
		if s, err = f.eventSlice(ctx, f.sql.EventSliceOnward.With(imported)); err != nil || s.looked == look {
			return s, err
		}
	}
	args.After = max(args.After, since-1)
	args.Look, args.Limit = look-s.looked, limit-len(s.candidates)
	accepted, err := f.eventSlice(ctx, f.sql.EventSliceOnward.With(args))
	if err != nil || accepted.looked == 0 {
		return s, err
	}
	accepted.candidates = append(s.candidates, accepted.candidates...)
	accepted.looked += s.looked
	return accepted, nil
}

// Found is a short form of an event, effect or refused delivery to which an action applies.
type Found struct {
	Cursor Cursor            // position after this row
	At     time.Time         // time when the row was received or created
	Event  identity.EventRef // the event, or the event that created the effect; zero if there is none
	Effect identity.EffectID // zero for an event or a refused delivery
	Key    string            // the effect's idempotency key, or the refused delivery's id
	// InDoubt means that the effect may have been applied. Unrendered means that nothing can be
	// sent, because the request could not be rendered.
	InDoubt, Unrendered bool
	// Unclear is the reason why Content could not be decided; nil: the row matches.
	Unclear error
}

// foundAtOnce is the maximum number of rows that a page of Found reads.
const foundAtOnce = 2_000

// foundBudget limits a page of Found, so that it takes less time than a worker's lease of a bulk
// run.
var foundBudget = budget{time: time.Second, rows: foundAtOnce, first: foundAtOnce, most: foundAtOnce}

// EventsToChange finds the events after a position, oldest first, for an action on each. It selects
// events that were accepted up to the position last and are not erased. If unredacted is true, it
// also omits redacted events. It always omits imported events. Each page reads at most 2,000
// events. Events that Content cannot decide are among the rows, with Found.Unclear.
func (f *Finder) EventsToChange(ctx context.Context, asked Events, from Cursor, last int64, unredacted bool) (Page[Found], error) {
	judge, _, err := f.judgeOf(ctx, asked.Content)
	if err != nil {
		return Page[Found]{}, fmt.Errorf("find events: %w", err)
	}
	if from == Beginning {
		from = place{acceptSeq: firstAccepted - 1}.ofEvent()
	}
	w := walk[identity.EventRef, Found]{cursor: place.ofEvent, judge: judge.telling(), budget: foundBudget, load: found(func(c candidate[identity.EventRef]) Found {
		return Found{Cursor: c.place.ofEvent(), At: c.place.at, Event: c.ref, Unclear: c.unclear}
	})}
	page, err := eventsOnward(ctx, f, w, asked, from, foundAtOnce, eventSliceOnward{UpTo: last + 1, Unerased: true, Unredacted: unredacted})
	if err != nil {
		return page, fmt.Errorf("find events: %w", err)
	}
	return page, nil
}

// EffectsToChange is like EventsToChange, but for effects. It selects effects that were created at
// asOf or earlier, did not finish after asOf, and are not erased.
func (f *Finder) EffectsToChange(ctx context.Context, asked Effects, from Cursor, asOf time.Time) (Page[Found], error) {
	page, err := f.effectsToChange(ctx, asked, from, asOf)
	if err != nil {
		return page, fmt.Errorf("find effects: %w", err)
	}
	return page, nil
}

func (f *Finder) effectsToChange(ctx context.Context, asked Effects, from Cursor, asOf time.Time) (Page[Found], error) {
	at, err := from.effect()
	if err != nil {
		return Page[Found]{}, err
	}
	judge, _, err := f.judgeOf(ctx, asked.Content)
	if err != nil {
		return Page[Found]{}, err
	}
	if at.at.Before(asked.Since) {
		at = place{at: asked.Since}
	}
	end := asOf
	if !asked.Until.IsZero() && asked.Until.Before(end) {
		end = asked.Until.Add(-time.Microsecond) // Until is exclusive; a microsecond is the database's resolution
	}
	return walk[identity.EffectID, Found]{
		cursor: place.ofEffect, judge: judge.telling(), budget: foundBudget, load: found(func(c candidate[identity.EffectID]) Found {
			return Found{
				Cursor: c.place.ofEffect(), At: c.place.at, Event: c.event, Effect: c.ref, Key: c.place.key,
				InDoubt: c.inDoubt, Unrendered: c.unrendered, Unclear: c.unclear,
			}
		}),
		read: func(ctx context.Context, behind place, look, limit int) (slice[identity.EffectID], error) {
			return f.effectSlice(ctx, f.sql.EffectSliceOnward.With(effectSliceOnward{
				effectsAskedFor: asked.args(), AfterTime: behind.at, AfterKey: behind.key, Until: end, FinishedUntil: asOf, Look: look, Limit: limit,
			}))
		},
	}.page(ctx, at, foundAtOnce)
}

// found builds rows from candidates without reading the full rows.
func found[Ref comparable](of func(candidate[Ref]) Found) func(context.Context, []candidate[Ref]) (map[Ref]Found, error) {
	return func(_ context.Context, candidates []candidate[Ref]) (map[Ref]Found, error) {
		rows := make(map[Ref]Found, len(candidates))
		for _, c := range candidates {
			rows[c.ref] = of(c)
		}
		return rows, nil
	}
}
