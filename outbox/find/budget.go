package find

import "time"

// budget limits what one answer reads.
type budget struct {
	time  time.Duration // a slice begins only if it will probably end within
	rows  int           // read, at most
	first int           // size of the first slice
	most  int           // size of a later slice, at most
}

var (
	// plainBudget is for answers that read no bodies and may take 100 ms. It leaves time to
	// load the rows that are found.
	plainBudget = budget{time: 60 * time.Millisecond, rows: 200_000, first: 1_000, most: 16_000}
	// briefBudget is for interactive pages.
	briefBudget = budget{time: 25 * time.Millisecond, rows: 200_000, first: 1_000, most: 16_000}
	// matchBudget is for answers that read bodies and may take 250 ms. The first slice is as
	// large as one read of bodies.
	matchBudget = budget{time: 170 * time.Millisecond, rows: 50_000, first: 100, most: 4_000}
)

// growth is how much larger a slice may be than the one before. It is small because the time of
// one slice says little about rows elsewhere.
const growth = 4

// pace decides how much is read next.
type pace struct {
	budget

	left int           // rows
	used time.Duration // time
	now  int           // size of the slice
}

func (b budget) begin() *pace { return &pace{budget: b, left: b.rows, now: min(b.first, b.rows)} }

// spent reports whether the time budget is spent after this much time of a slice.
func (p *pace) spent(ofSlice time.Duration) bool { return p.used+ofSlice >= p.time }

// next records a slice, and reports whether the budget allows another.
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
