package life

import (
	"fmt"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/internal/noun"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// Moment is one line of a timeline.
type Moment struct {
	At   time.Time
	What string // safe for a terminal
}

// Timeline returns the history of an event and its effects, in chronological order.
func (l *Event) Timeline() []Moment {
	e := l.Event
	var moments []Moment
	add := func(at time.Time, format string, args ...any) {
		if !at.IsZero() {
			moments = append(moments, Moment{at, fmt.Sprintf(format, args...)})
		}
	}
	add(e.OccurredAt, "occurred, by the provider's clock")
	if e.Outcome == inbox.Imported {
		add(e.ReceivedAt, "received by another system")
	} else {
		add(e.ReceivedAt, "received and committed")
	}
	for i, at := range e.DuplicateTimes {
		add(at, "duplicate %d of %d", int(e.Duplicates)-len(e.DuplicateTimes)+i+1, e.Duplicates)
	}
	if len(e.DuplicateTimes) == 0 { // an older version accepted the event
		add(e.LastDuplicateAt, "last of %s", noun.Counted(e.Duplicates, "duplicate"))
	}
	for _, r := range l.Replays {
		add(r.PreviousAt, "%s%s", r.PreviousOutcome, ReasonSuffix(safetext.Shown(r.PreviousError)))
		add(r.At, "%s", replayLine(r))
	}
	add(e.ProcessedAt, "%s", e.Outcome)
	add(e.RedactedAt, "redacted, as configured for its source")
	add(e.ErasedAt, "%s", safetext.Shown(e.Error))
	for _, effect := range l.Effects {
		for _, a := range effect.Attempts {
			add(a.FinishedAt, "%s: %s", safetext.Shown(effect.Destination), AttemptLine(a))
		}
		for _, t := range effect.Transitions {
			if Ordered(t) {
				add(t.At, "%s: %s", safetext.Shown(effect.Destination), TransitionLine(t))
			}
		}
	}
	slices.SortStableFunc(moments, func(a, b Moment) int { return a.At.Compare(b.At) })
	return moments
}
