package measure

import "time"

// Snapshot holds all gauges at one time.
type Snapshot struct {
	Waiting
	Standing

	Took time.Duration // to read it
}

// Waiting holds values that change every second. Destinations and sources without waiting work
// are omitted.
type Waiting struct {
	// At is the time of the snapshot, by the clock of the database.
	At time.Time

	Effects      []Effects
	Due          []Since // by destination: when the longest waiting effect became due
	Undispatched []Events
	EventsAside  []EventsAside
	Destinations []Destination
	LastAccepted []Since // by source: accurate to ten seconds
	Processes    []Process
	Lists        []List

	// DaysAhead is the number of days for which partitions exist in advance.
	DaysAhead int
	// Withheld is true while no at_most_once effect starts: see package repair.
	Withheld bool
	// Led is true while a worker leads: without a leader nothing is dispatched or repaired.
	Led bool
}

// Standing holds values that change every minute.
type Standing struct {
	Quarantine []Quarantine
	Retention  []Retention
	Tables     []Table
	Usual      []Usual
	Skipped    []SkippedEvents
}

// Effects counts the effects of a destination in one state.
type Effects struct {
	Destination string
	State       string
	Count       int64
	Since       *time.Time // failed and parked ones only: when the first entered the state
	AtLeast     bool       // counting stopped here
}

// Since is a time for a destination or a source.
type Since struct {
	Name string
	At   time.Time
}

// Events counts the undispatched events of a source.
type Events struct {
	Source string
	Count  int64
	Since  time.Time // arrival of the first
	// AtLeast is true if counting stopped here.
	AtLeast bool
	// Unserved reports that workers run and none of them has the source.
	Unserved bool
}

// EventsAside counts the events of a source that need attention: failed or held.
type EventsAside struct {
	Source string
	State  string
	Count  int64
	Since  time.Time // arrival of the first
}

// Destination is what blocks a destination.
type Destination struct {
	Name                  string
	Paused                bool
	PausedBy, PauseReason string
	PausedAt              *time.Time
	Broken                bool // its breaker is not closed
	BreakerReason         string
	OpenedAt, ProbeAt     *time.Time
}

// List is the coverage of a source whose provider has a list, the state of our endpoint there,
// and the results of the last hour's passes.
type List struct {
	Source       string
	CoveredUntil time.Time
	Seconds      float64 // for which the provider lists an event; 0: not stated
	Failures     int     // consecutive failed passes
	Error        string  // of the last pass; empty: it succeeded
	Endpoint     string  // on, off, foreign, or empty if the provider does not say
	Why          string
	OffSince     *time.Time

	Listed, Recovered int64
	Reported          int64 // missing, in passes that only report
	Lost              int64
	Oldest            *time.Time // of the missing events
}

// Slack returns the time until the provider drops events that are not yet covered. It returns
// false if the provider does not say for how long it lists an event.
func (l List) Slack(now time.Time) (time.Duration, bool) {
	back := time.Duration(l.Seconds * float64(time.Second))
	return back - now.Sub(l.CoveredUntil), back > 0
}

// Process is a running process.
type Process struct {
	Name, Kind, Version, ConfigHash string

	SeenAt time.Time
}

// Quarantine is the quarantine of a source.
type Quarantine struct {
	Source string
	Count  int64
	Bytes  int64
	Since  time.Time

	// OfKnown counts deliveries from known senders since the last accepted delivery, and
	// OfKnownSince is the time of the first of them.
	OfKnown      int64
	OfKnownSince *time.Time
}

// Retention is the progress of retention for one kind of rows, and for events of one source.
type Retention struct {
	What         string
	Source       string
	DayRows      int64      // deleted on the day it last ran
	StoppedSince *time.Time // since when it waits for an operator
}

// Table is the size of a table with its partitions: rows are estimated.
type Table struct {
	Name  string
	Rows  int64
	Bytes int64
	// BytesBefore is the size Days earlier, which is a week if that much is known. Nil: nothing
	// is known.
	BytesBefore *int64
	Days        *int
}

// Usual is what a source received in the last 60 minutes, and the usual values for that hour.
type Usual struct {
	Source     string
	Accepted   int64
	Duplicates int64
	// Events is the median number of events, including duplicates, and DuplicateRate the median
	// duplicate rate. Nil: no such hour is known.
	Events        *float64
	DuplicateRate *float64
}

// SkippedEvents counts the events of a source that matched no route in the last 60 minutes.
type SkippedEvents struct {
	Source     string
	Count      int64
	Since      time.Time // the minute of the first
	Dispatched int64     // events of the source that matched a route in that time
	// The same counts for the day before.
	CountBefore, DispatchedBefore int64
}

// manySkipped is how many skipped events show that a source has lost its routes, if no event
// matched one.
const manySkipped = 20

// Unusual reports whether the source had matching routes the day before, and either no event
// was skipped then or no event matches a route any more.
func (s SkippedEvents) Unusual() bool {
	return s.DispatchedBefore > 0 && (s.CountBefore == 0 || s.Dispatched == 0 && s.Count >= manySkipped)
}

// fewEvents is the number of events in an hour below which their duplicate rate means nothing.
const fewEvents = 50

// Rate returns the duplicate rate of the last 60 minutes. It returns false if there were too
// few events.
func (u Usual) Rate() (float64, bool) {
	all := u.Accepted + u.Duplicates
	if all < fewEvents {
		return 0, false
	}
	return float64(u.Duplicates) / float64(all), true
}
