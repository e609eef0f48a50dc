package find

import (
	"time"

	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// Page is one answer: what was found, and where it looked.
type Page[Row any] struct {
	Rows []Row
	// Cursors has the place of each row: from there a walk goes on behind it.
	Cursors []Cursor
	// More is true when not everything was looked at: Next goes on from there. The
	// budget may have ended before anything was found.
	More bool
	Next Cursor
	// Looked is how many events or effects were looked at, found or not.
	Looked int
	// Back is when the last of them was received or made: the answer is complete as
	// far as that. Zero when none was looked at.
	Back time.Time
	// Unclear counts those that were left out because Match failed, the first time
	// with WhyUnclear, and Bodiless those whose body is no longer stored, which Match
	// was not asked about.
	Unclear    int
	WhyUnclear error
	Bodiless   int
}

// Match decides by what is in an event, its body included.
type Match struct {
	By func(*inbox.Event) (bool, error)
	// Text stands in the body of every event for which By is true: letters, digits and
	// "_.:-" only. Bodies without it are not read any further. Empty: nothing is known.
	Text string
}
