package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/condition"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/plainjson"
	"github.com/hooklatch/hooklatch/outbox/safetext"
	"github.com/hooklatch/hooklatch/outbox/wildcard"
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
	Type        string // of the event that made it, or a pattern of package wildcard
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

// Validate says what keeps an action from being done to the selection.
func (s EffectSelection) Validate(action Action) error {
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

// selectionRecord is a selection as it is kept.
type selectionRecord struct {
	States      []EffectState   `json:"states"`
	Destination string          `json:"destination,omitempty"`
	Route       string          `json:"route,omitempty"`
	Source      identity.Source `json:"source,omitempty"`
	Type        string          `json:"type,omitempty"`
	Policy      Policy          `json:"policy,omitempty"`
	From        time.Time       `json:"since,omitzero"`
	Until       time.Time       `json:"until,omitzero"`
	AsOf        time.Time       `json:"as_of"`
	When        string          `json:"when,omitempty"`
	InDoubt     bool            `json:"in_doubt,omitempty"`
}

// Record is the selection as the operator log and a run keep it. Match is not in it, and
// DoubtSince is not.
func (s EffectSelection) Record() json.RawMessage {
	text, err := plainjson.Marshal(selectionRecord{
		States: s.States, Destination: safetext.Storable(s.Destination), Route: safetext.Storable(s.Route),
		Source: identity.Source(safetext.Storable(string(s.Source))), Type: safetext.Storable(s.Type), Policy: s.Policy,
		From: s.From, Until: s.Until, AsOf: s.AsOf, When: safetext.Storable(s.When), InDoubt: s.InDoubt,
	})
	if err != nil { // a year beyond 9999
		return json.RawMessage(`{}`)
	}
	return text
}

// Concealed is the selection as the operator log keeps it: without what its condition looks
// for. RequestID is that of the order.
func (s EffectSelection) Concealed(requestID string) EffectSelection {
	s.When, _ = condition.Concealed(s.When, requestID)
	return s
}

// ReadSelection reads what Record wrote.
func ReadSelection(text json.RawMessage) (EffectSelection, error) {
	var r selectionRecord
	if err := json.Unmarshal(text, &r); err != nil {
		return EffectSelection{}, fmt.Errorf("read a selection of effects: %w", err)
	}
	return EffectSelection{
		States: r.States, Destination: r.Destination, Route: r.Route, Source: r.Source, Type: r.Type, Policy: r.Policy,
		From: r.From, Until: r.Until, AsOf: r.AsOf, When: r.When, InDoubt: r.InDoubt,
	}, nil
}

// Fixed is the selection with its end set: now, by the clock of the database, unless it
// has one.
func (l *Ledger) Fixed(ctx context.Context, s EffectSelection) (EffectSelection, error) {
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

// Place is where a walk over effects stands: what was made up to there is behind it. The
// zero Place is before all of them.
type Place struct {
	at  time.Time
	key string
}

// String is for ParsePlace. It has the time in microseconds, as the database does.
func (p Place) String() string {
	if p == (Place{}) {
		return ""
	}
	return strconv.FormatInt(p.at.UnixMicro(), 10) + "." + p.key
}

// ParsePlace reads what String wrote.
func ParsePlace(text string) (Place, error) {
	if text == "" {
		return Place{}, nil
	}
	micros, key, _ := strings.Cut(text, ".")
	at, err := strconv.ParseInt(micros, 10, 64)
	if err != nil {
		return Place{}, fmt.Errorf("%q is no place among effects", text)
	}
	return Place{at: time.UnixMicro(at).UTC(), key: key}, nil
}

// slice reads the selected ones among the next effects, and where it ended. It
// reports false when there are no more.
func (l *Ledger) slice(ctx context.Context, s EffectSelection, after Place) ([]SelectedEffect, Place, bool, error) {
	end := s.AsOf
	if !s.Until.IsZero() && s.Until.Before(end) {
		end = s.Until.Add(-time.Microsecond) // the database counts in these
	}
	rows, err := l.sql.SelectEffects.With(selectEffects{
		AfterTime: after.at, AfterKey: after.key, Until: end, Limit: selectionSlice,
		States: s.States, FinishedUntil: s.AsOf, Destination: s.Destination, Route: s.Route, Source: s.Source, TypeLike: wildcard.Like(s.Type), Policy: s.Policy,
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
		after = Place{at: e.CreatedAt, key: e.IdempotencyKey}
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
