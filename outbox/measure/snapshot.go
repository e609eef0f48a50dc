package measure

import "time"

// Snapshot holds all gauges at one time.
type Snapshot struct {
	Waiting
	Standing

	Took time.Duration // duration of the reading
}

// Waiting holds values that change every second. Effects, Due, Undispatched and EventsAside omit
// destinations and sources without such work.
type Waiting struct {
	// At is the time of the snapshot, by the database's clock.
	At time.Time

	Effects      []Effects
	Due          []Since // by destination: time when the longest waiting effect became due
	Undispatched []Events
	EventsAside  []EventsAside
	Destinations []Destination
	LastAccepted []Since // by source: accurate to ten seconds
	Processes    []Process
	Lists        []List

	// DeployedAt is the time at which the newest running process or its configuration started. Nil:
	// no process runs.
	DeployedAt *time.Time
	// DaysAhead is the number of days for which partitions exist in advance.
	DaysAhead int
	// Withheld is true while no at_most_once effect starts: see package repair.
	Withheld bool
	// Led is true while a worker is River's leader. If it is false, no worker is running, or a new
	// leader is being elected.
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
	Since       *time.Time // only for failed and parked effects: time when the first one entered the state
	AtLeast     bool       // counting stopped at this number
}

// Since is the name of a destination or a source, with a time.
type Since struct {
	Name string
	At   time.Time
}

// Events counts the undispatched events of a source.
type Events struct {
	Source string
	Count  int64
	Since  time.Time // arrival of the first event
	// AtLeast is true if counting stopped at this number.
	AtLeast bool
	// Unserved is true if workers run but none of them has the source.
	Unserved bool
}

// EventsAside counts the events of a source that need attention: failed or held.
type EventsAside struct {
	Source string
	State  string
	Count  int64
	Since  time.Time // arrival of the first event
}

// Destination is the state of a destination's pause and breaker.
type Destination struct {
	Name                  string
	Paused                bool
	PausedBy, PauseReason string
	PausedAt              *time.Time
	Broken                bool // the breaker is not closed
	BreakerReason         string
	OpenedAt, ProbeAt     *time.Time
}

// List is the coverage of a source whose provider has a list. It includes the state of Hooklatch's
// endpoint at the provider, and the results of the last hour's passes.
type List struct {
	Source       string
	CoveredUntil time.Time
	Seconds      float64 // period for which the provider lists an event; 0: not stated
	Failures     int     // consecutive failed passes
	Error        string  // error of the last pass; empty: it succeeded
	Endpoint     string  // on, off, foreign, or empty if the provider does not say
	Why          string
	OffSince     *time.Time

	Listed, Recovered int64
	Reported          int64 // missing events, in passes that only report them
	Lost              int64
	Oldest            *time.Time // time of the oldest missing event
}

// Slack returns the time until the provider drops events that are not yet covered. It returns false
// if the provider does not state its listing period.
func (l List) Slack(now time.Time) (time.Duration, bool) {
	back := time.Duration(l.Seconds * float64(time.Second))
	return back - now.Sub(l.CoveredUntil), back > 0
}

// Process is a running process.
type Process struct {
	Name, Kind, Version, ConfigHash string

	SeenAt time.Time
}

// Quarantine describes the quarantined deliveries of a source.
type Quarantine struct {
	Source string
	Count  int64
	Bytes  int64
	Since  time.Time

	// OfKnown counts deliveries from known senders since the last accepted delivery, and
	// OfKnownSince is the time of the first of these deliveries.
	OfKnown      int64
	OfKnownSince *time.Time
}

// Retention is the progress of retention for one kind of rows. Events have a separate progress for
// each source.
type Retention struct {
	What         string
	Source       string
	DayRows      int64      // deleted on the day of the last run
	StoppedSince *time.Time // start of the wait for an operator
	// ExportFailedSince is the time since which exports of days, or erasures in exported days, have
	// failed.
	ExportFailedSince *time.Time
}

// Table is the size of a table with its partitions. The number of rows is an estimate.
type Table struct {
	Name  string
	Rows  int64
	Bytes int64
	// BytesBefore is the size Days earlier, usually a week. Nil: no earlier size is known.
	BytesBefore *int64
	Days        *int
}

// Usual contains a source's counts of the last 60 minutes, and the usual values for the same hour
// of the day.
type Usual struct {
	Source     string
	Accepted   int64
	Duplicates int64
	// Events is the median number of events, including duplicates, and DuplicateRate the median
	// duplicate rate. Nil: unknown.
	Events        *float64
	DuplicateRate *float64
}

// SkippedEvents counts the events of a source that matched no route in the last 60 minutes.
type SkippedEvents struct {
	Source     string
	Count      int64
	Since      time.Time // minute of the first skipped event
	Dispatched int64     // the source's events that matched a route in that time
	// The next fields are the same counts for the day before.
	CountBefore, DispatchedBefore int64
}

// manySkipped is the minimum number of skipped events that Unusual requires if events were skipped
// the day before too.
const manySkipped = 20

// Unusual reports whether the source has probably lost its matching routes. This requires that
// events matched a route the day before. It also requires that no event was skipped then, or that
// at least manySkipped events are skipped now and none matches a route.
func (s SkippedEvents) Unusual() bool {
	return s.DispatchedBefore > 0 && (s.CountBefore == 0 || s.Dispatched == 0 && s.Count >= manySkipped)
}

// fewEvents is the minimum number of events in an hour for a meaningful duplicate rate.
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
