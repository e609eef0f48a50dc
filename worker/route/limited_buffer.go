package route

import (
	"bytes"
	"errors"
	"time"
)

var errTooSlow = errors.New("took too long to render")

// limitedBuffer rejects writes beyond limit bytes or after deadline. An endless template therefore
// fails at its next write.
type limitedBuffer struct {
	bytes.Buffer

	limit    int
	deadline time.Time // zero for no deadline
}

// Write implements io.Writer.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		return 0, errTooLarge
	}
	if !b.deadline.IsZero() && time.Now().After(b.deadline) {
		return 0, errTooSlow
	}
	return b.Buffer.Write(p)
}
