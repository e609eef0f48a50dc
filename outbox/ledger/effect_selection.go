package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/internal/column"
	"github.com/hooklatch/hooklatch/outbox/safetext"
)

// selectionSlice is how many effects a selection reads at once, selected or not.
const selectionSlice = 2000

// EffectSelection selects the effects of an order about many. Empty fields take
// all, but States names at least one.
type EffectSelection struct {
	States      []EffectState
	Destination string
	Route       string
	Source      identity.Source
	Policy      Policy
	From        time.Time // made at or after
	Until       time.Time // made before
	// AsOf leaves out what was made later, and what came to its state later: a
	// run is about what its preview counted, and does not take up what it has
	// set going itself. Zero is now, by the database's clock.
	AsOf time.Time
	// InDoubt takes effects too that may have been applied. Without it they are
	// only counted. An order that takes them has a reason.
	InDoubt bool
	// DoubtSince has those that are parked count as perhaps applied since then, unless
	// they are in doubt for longer. Zero: they are as they were.
	DoubtSince time.Time
	// Match decides by the event of an effect, its body included. An effect that
	// no event made is left out, and so is one for which Match fails.
	// unclear is why it cannot be decided: the effect is left out then, and counted.
	// An error ends the walk.
	Match func(ctx context.Context, ref identity.EventRef) (yes bool, unclear, err error)
	// When is how Match was written, for the record.
	When string
}

func (s EffectSelection) validate(action Action) error {
	allowed := StatesFor(action)
	if allowed == nil {
		return fmt.Errorf("%s is no action on effects", action)
	}
	if len(s.States) == 0 {
		return fmt.Errorf("the selection names no state; %s is possible for those that are %s", action, wordsOf(allowed))
	}
	for _, state := range s.States {
		if !slices.Contains(allowed, state) {
			return fmt.Errorf("%s is not possible for effects that are %s, only for those that are %s", action, state, wordsOf(allowed))
		}
	}
	if !s.From.IsZero() && !s.Until.IsZero() && !s.From.Before(s.Until) {
		return errors.New("the selection ends before it begins")
	}
	return nil
}

// record is the selection as the operator log keeps it.
func (s EffectSelection) record() json.RawMessage {
	text, err := json.Marshal(struct {
		States      []EffectState `json:"states"`
		Destination string        `json:"destination,omitempty"`
		Route       string        `json:"route,omitempty"`
		Source      string        `json:"source,omitempty"`
		Policy      Policy        `json:"policy,omitempty"`
		From        *time.Time    `json:"since,omitempty"`
		Until       *time.Time    `json:"until,omitempty"`
		AsOf        time.Time     `json:"as_of"`
		When        string        `json:"when,omitempty"`
		InDoubt     bool          `json:"in_doubt,omitempty"`
	}{
		s.States, safetext.Storable(s.Destination), safetext.Storable(s.Route), safetext.Storable(string(s.Source)), s.Policy,
		column.TimeOrNull(s.From), column.TimeOrNull(s.Until), s.AsOf, safetext.Storable(s.When), s.InDoubt,
	})
	if err != nil { // a year beyond 9999
		return json.RawMessage(`{}`)
	}
	return text
}

// fixed is the selection with its end set.
func (l *Ledger) fixed(ctx context.Context, s EffectSelection) (EffectSelection, error) {
	if !s.AsOf.IsZero() {
		return s, nil
	}
	if err := l.sql.DatabaseClock.QueryRow(ctx, l.read).Scan(&s.AsOf); err != nil {
		return s, fmt.Errorf("ask the database for the time: %w", err)
	}
	return s, nil
}

// SelectedEffect is an effect of a selection, in short.
type SelectedEffect struct {
	IdempotencyKey string
	Destination    string
	Route          string
	Event          identity.EventRef // empty when the application enqueued it
	EventType      string
	State          EffectState
	Attempt        int
	CreatedAt      time.Time
	ResponseStatus int
	Error          string

	inDoubt    bool
	unrendered bool
}

// position is where a walk over effects stands.
type position struct {
	at  time.Time
	key string
}

// slice reads the selected ones among the next effects, and where it ended. It
// reports false when there are no more.
func (l *Ledger) slice(ctx context.Context, s EffectSelection, after position) ([]SelectedEffect, position, bool, error) {
	end := s.AsOf
	if !s.Until.IsZero() && s.Until.Before(end) {
		end = s.Until.Add(-time.Microsecond) // the database counts in these
	}
	rows, err := l.sql.SelectEffects.With(selectEffects{
		AfterTime: after.at, AfterKey: after.key, Until: end, Limit: selectionSlice,
		States: s.States, FinishedUntil: s.AsOf, Destination: s.Destination, Route: s.Route, Source: s.Source, Policy: s.Policy,
	}).Query(ctx, l.read)
	if err != nil {
		return nil, after, false, fmt.Errorf("select effects: %w", err)
	}
	var found []SelectedEffect
	more := false
	var e SelectedEffect
	var selected bool
	var doubt *time.Time
	_, err = pgx.ForEachRow(rows, []any{
		&selected, &e.CreatedAt, &e.IdempotencyKey, &e.Destination, &e.Route, &e.Event.Source, &e.Event.EventID, &e.EventType,
		&e.State, &e.Attempt, &doubt, &e.unrendered, &e.ResponseStatus, &e.Error,
	}, func() error {
		more = true
		after = position{at: e.CreatedAt, key: e.IdempotencyKey}
		e.inDoubt = doubt != nil
		if selected {
			found = append(found, e)
		}
		return nil
	})
	if err != nil {
		return nil, after, false, fmt.Errorf("select effects: %w", err)
	}
	return found, after, more, nil
}
