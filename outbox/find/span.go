package find

import (
	"errors"
	"time"
)

// Span is the time range in which events were received, effects created, or actions requested.
type Span struct {
	Since time.Time `json:"since,omitzero" find:"since" former:"from" label:"Since" hint:"24h"`
	Until time.Time `json:"until,omitzero" find:"until" former:"to" label:"Until" hint:"2026-11-21"` // exclusive
}

// ErrSpan is returned when a Span is empty, because its end is not after its beginning.
var ErrSpan = errors.New("the selection contains no time: its end must be after its beginning")

// Validate returns ErrSpan if s is empty.
func (s Span) Validate() error {
	if !s.Since.IsZero() && !s.Until.IsZero() && !s.Since.Before(s.Until) {
		return ErrSpan
	}
	return nil
}

// contains reports whether a time is within the span.
func (s Span) contains(at time.Time) bool {
	return !at.Before(s.Since) && (s.Until.IsZero() || at.Before(s.Until))
}
