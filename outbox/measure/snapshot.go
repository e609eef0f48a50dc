package measure

import "time"

// Snapshot is all there is to know at a moment.
type Snapshot struct {
	Waiting
	Standing

	Took time.Duration // to read it
}

// Waiting is what changes from one second to the next. What does not wait is left out.
type Waiting struct {
	// At is when it was, by the clock of the database.
	At time.Time

	Effects      []Effects
	Due          []Since // by destination: since when the effect that waits longest has been due
	Undispatched []Events
	EventsAside  []EventsAside
	Destinations []Destination
	LastAccepted []Since // by source: to ten seconds
	Processes    []Process
	Lists        []List

	// DaysAhead is how many days of partitions lie ahead.
	DaysAhead int
	// Withheld is true while no at_most_once effect starts: see package repair.
	Withheld bool
	// Led is true while a worker leads: without one nothing is dispatched or repaired.
	Led bool
}

// Standing is what changes from one minute to the next.
type Standing struct {
	Quarantine []Quarantine
	Retention  []Retention
	Tables     []Table
	Usual      []Usual
	Skipped    []SkippedEvents
}

// Effects are those of a destination in one state.
type Effects struct {
	Destination string
	State       string
	Count       int64
	Since       *time.Time // of failed and parked ones: when the first came to it
	AtLeast     bool       // they were counted no further
}

// Since is since when, or when, of a destination or a source.
type Since struct {
	Name string
	At   time.Time
}

// Events are those of a source that are not dispatched yet.
type Events struct {
	Source string
	Count  int64
	Since  time.Time // when the first came
	// AtLeast: they were counted no further.
	AtLeast bool
	// Unserved reports that workers run and none of them has the source.
	Unserved bool
}

// EventsAside are those of a source that wait for a person: failed or held.
type EventsAside struct {
	Source string
	State  string
	Count  int64
	Since  time.Time // when the first came
}

// Destination is what holds one.
type Destination struct {
	Name                  string
	Paused                bool
	PausedBy, PauseReason string
	PausedAt              *time.Time
	Broken                bool // its breaker is not closed
	BreakerReason         string
	OpenedAt, ProbeAt     *time.Time
}

// List is how complete a source is whose provider has a list, how it is about our endpoint
// there, and what passes of the last hour found.
type List struct {
	Source       string
	CoveredUntil time.Time
	Seconds      float64 // for which the provider lists an event; 0: it does not say
	Failures     int     // passes in a row
	Error        string  // of the last; empty: it ended well
	Endpoint     string  // on, off, foreign, or empty where the provider does not say
	Why          string
	OffSince     *time.Time

	Listed, Recovered int64
	Reported          int64 // missing, in a pass that only tells
	Lost              int64
	Oldest            *time.Time // of what was missing
}

// Slack is how long it takes until the provider forgets what is not known to be complete.
// False: it does not say for how long it lists an event.
func (l List) Slack(now time.Time) (time.Duration, bool) {
	back := time.Duration(l.Seconds * float64(time.Second))
	return back - now.Sub(l.CoveredUntil), back > 0
}

// Process is one that runs.
type Process struct {
	Name, Kind, Version, ConfigHash string

	SeenAt time.Time
}

// Quarantine is what was refused of a source and is kept.
type Quarantine struct {
	Source string
	Count  int64
	Bytes  int64
	Since  time.Time

	// OfKnown is how many came from known senders since the last delivery that was
	// accepted, and OfKnownSince when the first of them did.
	OfKnown      int64
	OfKnownSince *time.Time
}

// Retention is how it fares with one kind of rows, and of events with one source.
type Retention struct {
	What         string
	Source       string
	DayRows      int64      // deleted on the day it last ran
	StoppedSince *time.Time // it waits for a person
}

// Table is what one holds, with its partitions: rows are estimated.
type Table struct {
	Name  string
	Rows  int64
	Bytes int64
	// BytesBefore are those of Days before, a week when so much is known. Nil: nothing is.
	BytesBefore *int64
	Days        *int
}

// Usual is what a source brought in the last 60 minutes, and what is usual in that hour.
type Usual struct {
	Source     string
	Accepted   int64
	Duplicates int64
	// Events are the median of those that came, duplicates too, and DuplicateRate that
	// of their share. Nil: no such hour is known.
	Events        *float64
	DuplicateRate *float64
}

// SkippedEvents are the events of a source that no route wanted in the last 60 minutes.
type SkippedEvents struct {
	Source     string
	Count      int64
	Since      time.Time // the minute of the first
	Dispatched int64     // events of the source that had a route meanwhile
	// Both numbers for the day before.
	CountBefore, DispatchedBefore int64
}

// manySkipped is how many skipped events say that a source lost its routes, when none had
// one.
const manySkipped = 20

// Unusual reports whether the source was wanted before: its events had routes, and either
// none was skipped or none has a route any more.
func (s SkippedEvents) Unusual() bool {
	return s.DispatchedBefore > 0 && (s.CountBefore == 0 || s.Dispatched == 0 && s.Count >= manySkipped)
}

// fewEvents is below how many events in an hour their share of duplicates says nothing.
const fewEvents = 50

// Rate is the share of duplicates of all that came in the last 60 minutes.
// False: too few came to say.
func (u Usual) Rate() (float64, bool) {
	all := u.Accepted + u.Duplicates
	if all < fewEvents {
		return 0, false
	}
	return float64(u.Duplicates) / float64(all), true
}
