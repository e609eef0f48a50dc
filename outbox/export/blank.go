package export

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/internal/jsonpointer"
	"github.com/hooklatch/hooklatch/internal/plainjson"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// linked is an effect of an event, with its attempts and transitions.
type linked struct {
	Suppressed  bool      `json:"suppressed"`
	Effect      columns   `json:"effect"`
	Attempts    []columns `json:"attempts"`
	Transitions []columns `json:"transitions"`
}

// columns is a row: the value of each column, by the column's name.
type columns map[string]json.RawMessage

// set replaces values of columns.
func (c columns) set(values map[string]any) error {
	for name, value := range values {
		text, err := plainjson.Marshal(value)
		if err != nil {
			return err
		}
		c[name] = text
	}
	return nil
}

// blank removes the texts that an erasure removes in the database: see erase_effect in package
// schema. The idempotency key, states and times stay.
func (l *linked) blank(note string, erasedAt time.Time) error {
	texts := map[string]any{
		"request_method": "", "request_url": "", "request_headers": struct{}{}, "request_type": "", "request_body": `\x`, "request_rendering": "done",
		"traceparent": "", "order_key": "", "latest_key": "", "response_excerpt": "", "error": note,
	}
	if !erasedAt.IsZero() {
		texts["erased_at"] = erasedAt
	}
	if err := l.Effect.set(texts); err != nil {
		return err
	}
	for _, a := range l.Attempts {
		if err := a.set(map[string]any{"response_excerpt": "", "error": ""}); err != nil {
			return err
		}
	}
	for _, t := range l.Transitions {
		if err := t.set(map[string]any{"reason": ""}); err != nil {
			return err
		}
	}
	return nil
}

// eachEffect calls change for each linked effect, with the event that created the effect, and
// stores the results in e.
func (e *Event) eachEffect(change func(of identity.EventRef, l *linked) error) error {
	var all []*linked
	if err := json.Unmarshal(e.Effects, &all); err != nil {
		return fmt.Errorf("effects of an event: %w", err)
	}
	for _, l := range all {
		var of identity.EventRef
		for name, into := range map[string]any{"source": &of.Source, "event_id": &of.EventID} {
			if err := json.Unmarshal(l.Effect[name], into); err != nil {
				return fmt.Errorf("effect of an event: %w", err)
			}
		}
		if err := change(of, l); err != nil {
			return fmt.Errorf("effect of an event: %w", err)
		}
	}
	text, err := plainjson.Marshal(all)
	e.Effects = text
	return err
}

// hideOthers removes the texts of effects that belong to other events. Each of those events has
// these texts in its own line, from which its erasure removes them.
func (e *Event) hideOthers() error {
	if string(e.Effects) == "[]" {
		return nil
	}
	return e.eachEffect(func(of identity.EventRef, l *linked) error {
		if of == e.EventRef {
			return nil
		}
		return l.blank("it belongs to event "+of.String(), time.Time{})
	})
}

// erase removes the content of the noted events from the line: from the line's own events, and from
// the parts that repeat an event. If no event of the line keeps its content, erase removes the
// whole body and the headers. It reports whether anything was removed.
func (l *Line) erase(noted notes) (changed bool, err error) {
	var gone []string // items to remove
	var kept []string // items of events that stay
	for _, e := range l.Events {
		var row struct {
			Item       string     `json:"item"`
			ErasedAt   *time.Time `json:"erased_at"`
			RedactedAt *time.Time `json:"redacted_at"`
		}
		if err := json.Unmarshal(e.Row, &row); err != nil {
			return false, fmt.Errorf("row of an event: %w", err)
		}
		n, is := noted[e.EventRef]
		switch {
		case is && row.ErasedAt == nil && !(n.redacting && row.RedactedAt != nil && !row.RedactedAt.Before(n.requestedAt)): // a redaction may be repeated with other rules
			if err := e.erase(n); err != nil {
				return false, err
			}
			gone, changed = append(gone, row.Item), true
		case row.ErasedAt == nil:
			kept = append(kept, row.Item)
		}
	}
	if changed && len(kept) == 0 {
		l.Body, l.Copies = nil, nil
		var delivery columns
		err := json.Unmarshal(l.Delivery, &delivery)
		if err == nil {
			err = delivery.set(map[string]any{"headers": struct{}{}, "content_type": ""})
		}
		if err == nil {
			l.Delivery, err = plainjson.Marshal(delivery)
		}
		return true, err
	}
	for _, c := range l.Copies {
		if _, is := noted[c.EventRef]; is {
			gone = append(gone, c.Item)
		}
	}
	return l.blot(gone, kept) || changed, nil
}

// blot replaces the items in gone with null, except where an item in kept needs the bytes. If the
// line lists no copies, the siblings of the items in gone may be copies, and are replaced too.
func (l *Line) blot(gone, kept []string) (changed bool) {
	var stays []jsonpointer.Place
	for _, item := range kept {
		if item == "" {
			return false // the whole body is an event
		}
		stays = append(stays, jsonpointer.Places(l.Body, item)...)
	}
	var places []jsonpointer.Place
	for _, item := range gone {
		for _, p := range jsonpointer.Siblings(l.Body, item) {
			own := slices.Contains(jsonpointer.Places(l.Body, item), p)
			needed := slices.ContainsFunc(stays, func(s jsonpointer.Place) bool { return p.Start < s.End && s.Start < p.End })
			if item != "" && (own || len(l.Copies) == 0) && !needed && string(l.Body[p.Start:p.End]) != "null" {
				places = append(places, p)
			}
		}
	}
	slices.SortFunc(places, func(a, b jsonpointer.Place) int { return cmp.Compare(a.Start, b.Start) })
	var body []byte
	at := 0
	for _, p := range places {
		if p.Start >= at {
			body = append(append(body, l.Body[at:p.Start]...), "null"...)
			at = p.End
		}
	}
	if at == 0 {
		return false
	}
	l.Body = append(body, l.Body[at:]...)
	return true
}

// erase removes from an event's rows the values that the SQL function erase_event removes in the
// database: see package schema.
func (e *Event) erase(n note) error {
	var row columns
	if err := json.Unmarshal(e.Row, &row); err != nil {
		return fmt.Errorf("row of an event: %w", err)
	}
	texts := map[string]any{"traceparent": "", "api_version": "", "retry_reason": "", "error": n.text, "erased_at": n.requestedAt}
	if n.redacting {
		texts = map[string]any{"redacted_at": n.requestedAt}
	}
	if err := row.set(texts); err != nil {
		return err
	}
	var replays []columns
	if err := json.Unmarshal(e.Replays, &replays); err != nil {
		return fmt.Errorf("replays of an event: %w", err)
	}
	for _, r := range replays {
		if err := r.set(map[string]any{"previous_error": ""}); err != nil {
			return err
		}
	}
	var err error
	if e.Replays, err = plainjson.Marshal(replays); err != nil {
		return err
	}
	if e.Row, err = plainjson.Marshal(row); err != nil {
		return err
	}
	return e.eachEffect(func(of identity.EventRef, l *linked) error {
		if of != e.EventRef {
			return nil // the texts are only in the line of the effect's own event
		}
		return l.blank(n.text, n.requestedAt)
	})
}

// EffectStates returns the states of the effects to which the event is linked.
func (e *Event) EffectStates() []string {
	var all []struct {
		Effect struct {
			State string `json:"state"`
		} `json:"effect"`
	}
	_ = json.Unmarshal(e.Effects, &all) // Postgres wrote the JSON, and a checksum covers it
	states := make([]string, len(all))
	for i, of := range all {
		states[i] = of.Effect.State
	}
	return states
}

// StoredEffect identifies an effect in the database.
type StoredEffect struct {
	identity.EffectID

	RowID int64 // effect_id of the row, which no other effect has
}

// Created returns the effects that an erasure of the event erases with it: the effects that the
// event created. Effects whose exported row has no effect_id are left out.
func (e *Event) Created() ([]StoredEffect, error) {
	var all []struct {
		Suppressed bool `json:"suppressed"`
		Effect     struct {
			identity.EventRef

			Scope      identity.Scope `json:"scope"`
			Key        identity.Key   `json:"key"`
			Generation int            `json:"generation"`
			RowID      *int64         `json:"effect_id"`
		} `json:"effect"`
	}
	if err := json.Unmarshal(e.Effects, &all); err != nil {
		return nil, fmt.Errorf("effects of an event: %w", err)
	}
	var created []StoredEffect
	for _, l := range all {
		if f := l.Effect; f.RowID != nil && (!l.Suppressed || f.EventRef == e.EventRef) {
			created = append(created, StoredEffect{identity.EffectID{Scope: f.Scope, Key: f.Key, Generation: f.Generation}, *f.RowID})
		}
	}
	return created, nil
}
