package find

import "time"

// Page is one page of a list: the rows found, and how far the search looked.
type Page[Row any] struct {
	Rows []Row
	// Cursors contains the position after each row, from which a list continues.
	Cursors []Cursor
	// More is true if rows may be left to read, after the position Next. The budget may have been
	// spent before any match was found.
	More bool
	Next Cursor
	// Looked is the number of rows read, matching or not.
	Looked int
	// Back is the receipt or creation time of the last row that the page covers. The page is
	// complete back to this time, or up to this time if it walks onward. Zero if no row was read,
	// or if the rows were looked up by id.
	Back time.Time
	// Unclear counts the rows for which Content.When failed; WhyUnclear is the first error.
	// Bodiless counts the rows whose body is no longer stored or was erased. Both kinds are
	// omitted, except from pages of Found.
	Unclear    int
	WhyUnclear error
	Bodiless   int
}

// judgedBy copies the counts from a judge, which may be nil.
func (p *Page[Row]) judgedBy(j *judge) {
	if j != nil {
		p.Unclear, p.WhyUnclear, p.Bodiless = j.unclear, j.whyUnclear, j.bodiless
	}
}
