package find

import "time"

// budget limits how much one page reads.
type budget struct {
	time  time.Duration // a slice begins only if it will probably end within this time
	rows  int           // maximum number of rows read
	first int           // size of the first slice
	most  int           // maximum size of a later slice
}

var (
	// plainBudget is for pages that read no bodies and may take 100 ms. It leaves time to load the
	// rows that are found.
	plainBudget = budget{time: 60 * time.Millisecond, rows: 200_000, first: 1_000, most: 16_000}
	// briefBudget replaces plainBudget for interactive pages: see Finder.Brief.
	briefBudget = budget{time: 25 * time.Millisecond, rows: 200_000, first: 1_000, most: 16_000}
	// matchBudget is for pages that read bodies and may take 250 ms. The first slice is as large as
	// one read of bodies.
	matchBudget = budget{time: 170 * time.Millisecond, rows: 50_000, first: 100, most: 4_000}
)

// growth limits the size of a slice relative to the previous slice. It is small because one slice's
// duration is a poor estimate for the duration of the next slice.
const growth = 4

// pace decides how much to read next.
type pace struct {
	budget

	left int           // number of rows that may still be read
	used time.Duration // time used
	now  int           // size of the next slice
}

func (b budget) begin() *pace { return &pace{budget: b, left: b.rows, now: min(b.first, b.rows)} }

// spent reports whether the time budget is spent if the current slice has taken ofSlice so far.
func (p *pace) spent(ofSlice time.Duration) bool { return p.used+ofSlice >= p.time }

// next records a slice, and reports whether the budget allows another slice.
func (p *pace) next(looked int, took time.Duration) bool {
	p.used += took
	p.left -= looked
	if looked == 0 || p.left <= 0 {
		return false
	}
	each := max(took/time.Duration(looked), 1)
	affordable := int((p.time - p.used) / each)
	p.now = min(p.now*growth, p.most, p.left, affordable)
	return p.now >= min(p.first, p.left)
}
