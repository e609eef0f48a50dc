package find

import "time"

// Page is one answer: the rows found, and how far the search looked.
type Page[Row any] struct {
	Rows []Row
	// Cursors contains the place behind each row, to continue from.
	Cursors []Cursor
	// More is true if some rows have not been read: Next continues there. The budget may have
	// ended before anything was found.
	More bool
	Next Cursor
	// Looked is the number of rows read, matching or not.
	Looked int
	// Back is when the last row that was read was received or made. The answer is complete up
	// to there. Zero if none was read.
	Back time.Time
	// Unclear counts the rows left out because Content.When failed; WhyUnclear is the first
	// error. Bodiless counts the rows left out because their body is no longer stored.
	Unclear    int
	WhyUnclear error
	Bodiless   int
}

// judgedBy copies the counts of a judge, which may be nil.
func (p *Page[Row]) judgedBy(j *judge) {
	if j != nil {
		p.Unclear, p.WhyUnclear, p.Bodiless = j.unclear, j.whyUnclear, j.bodiless
	}
}
