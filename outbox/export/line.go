package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/internal/plainjson"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// Line is one delivery in a part. Rows are JSON objects of their columns.
type Line struct {
	Delivery json.RawMessage // row of deliveries, without its body
	Body     []byte
	Events   []*Event
	Copies   []Copy

	id uuid.UUID
}

// Event is one event of a Line.
type Event struct {
	identity.EventRef `json:"-"`

	Row     json.RawMessage `json:"event"`   // row of processed_events
	Effects json.RawMessage `json:"effects"` // for each link, the row of effects with its attempts and transitions
	Replays json.RawMessage `json:"replays"`
}

// Copy is a part of a delivery's body that repeats an event of another delivery or of another part.
type Copy struct {
	identity.EventRef

	Item string `json:"item"`
}

// stored is the JSON of a Line. A body of valid UTF-8 is stored as text, so that other programs can
// read it.
type stored struct {
	Delivery   json.RawMessage `json:"delivery"`
	Body       *string         `json:"body,omitempty"`
	BodyBase64 []byte          `json:"body_base64,omitempty"`
	Events     []*Event        `json:"events"`
	Copies     []Copy          `json:"copies,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (l *Line) MarshalJSON() ([]byte, error) {
	s := stored{Delivery: l.Delivery, Events: l.Events, Copies: l.Copies}
	if utf8.Valid(l.Body) {
		text := string(l.Body)
		s.Body = &text
	} else {
		s.BodyBase64 = l.Body
	}
	return plainjson.Marshal(s)
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *Line) UnmarshalJSON(text []byte) error {
	var s stored
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	*l = Line{Delivery: s.Delivery, Body: s.BodyBase64, Events: s.Events, Copies: s.Copies}
	if s.Body != nil {
		l.Body = []byte(*s.Body)
	}
	for _, e := range l.Events {
		if err := json.Unmarshal(e.Row, &e.EventRef); err != nil {
			return fmt.Errorf("row of an event: %w", err)
		}
	}
	var key struct {
		ID uuid.UUID `json:"delivery_id"`
	}
	if err := json.Unmarshal(l.Delivery, &key); err != nil {
		return fmt.Errorf("row of a delivery: %w", err)
	}
	l.id = key.ID
	return nil
}

// refs returns the events by which the line is found: its own events, and the events that it
// repeats.
func (l *Line) refs() []identity.EventRef {
	var refs []identity.EventRef
	for _, e := range l.Events {
		refs = append(refs, e.EventRef)
	}
	for _, c := range l.Copies {
		refs = append(refs, c.EventRef)
	}
	return refs
}

// event returns the line's event with this ref, or nil if the line has no such event or only
// repeats it.
func (l *Line) event(ref identity.EventRef) *Event {
	for _, e := range l.Events {
		if e.EventRef == ref {
			return e
		}
	}
	return nil
}

func isEnd(err error) bool { return errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) }
