package find

import "time"

// budget bounds what one answer reads.
type budget struct {
	time  time.Duration // a slice begins only if it will probably end within
	rows  int           // looked at, at most
	first int           // how many the first slice looks at
	most  int           // and a later one, at most
}

var (
	// plainBudget leaves time for the rows that are found, of the 100 ms an answer may
	// take.
	plainBudget = budget{time: 60 * time.Millisecond, rows: 200_000, first: 1_000, most: 16_000}
	// briefBudget is for pages that somebody waits for.
	briefBudget = budget{time: 25 * time.Millisecond, rows: 200_000, first: 1_000, most: 16_000}
	// matchBudget is for answers that read bodies, and may take 250 ms. A slice is as
	// large as what is read at once.
	matchBudget = budget{time: 170 * time.Millisecond, rows: 50_000, first: 100, most: 4_000}
)

// growth is how much larger a slice may be than the one before: what that took says
// little about rows that lie elsewhere.
const growth = 4

// pace decides how much is looked at next.
type pace struct {
	budget

	left int           // of rows
	used time.Duration // of time
	now  int           // size of the slice
}

func (b budget) begin() *pace { return &pace{budget: b, left: b.rows, now: min(b.first, b.rows)} }

// spent tells whether no time is left of the budget after this much of a slice.
func (p *pace) spent(ofSlice time.Duration) bool { return p.used+ofSlice >= p.time }

// next takes note of a slice, and returns whether there is budget for another.
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
