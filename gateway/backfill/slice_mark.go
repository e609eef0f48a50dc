package backfill

import (
	"encoding/json"
	"time"

	"github.com/hooklatch/hooklatch/outbox/coverage"
)

// sliceMark is where an interrupted pass over slices goes on.
type sliceMark struct {
	Since  time.Time
	Length time.Duration // of the next slice
	Deep   bool          // the pass reads the whole window
}

func (m sliceMark) token() string {
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // times and numbers
	}
	return string(text)
}

// sliceMarkOf returns the mark of a pass that was interrupted, false if there is none of
// the same depth.
func sliceMarkOf(row *coverage.Pass, deep bool) (m sliceMark, found bool) {
	if row.PassUntil.IsZero() || json.Unmarshal([]byte(row.PageToken), &m) != nil {
		return m, false
	}
	return m, m.Deep == deep && m.Length >= shortestSlice
}
