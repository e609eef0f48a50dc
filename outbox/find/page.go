package find

import "time"

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
	// Unclear counts those that were left out because Content.When failed, the first time
	// with WhyUnclear, and Bodiless those whose body is no longer stored, which Content
	// was not asked about.
	Unclear    int
	WhyUnclear error
	Bodiless   int
}

// judgedBy takes over what a judge counted; nil: there was none.
func (p *Page[Row]) judgedBy(j *judge) {
	if j != nil {
		p.Unclear, p.WhyUnclear, p.Bodiless = j.unclear, j.whyUnclear, j.bodiless
	}
}
