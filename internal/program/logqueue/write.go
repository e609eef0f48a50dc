package logqueue

import (
	"bytes"
	"time"
)

// run writes the queue to the stream. After Close, it returns when the queue is empty.
func (q *Queue) run() {
	defer close(q.ended)
	var batch []byte
	for range q.wake {
		for {
			var ends bool
			if batch, ends = q.take(batch); ends {
				return
			} else if len(batch) == 0 {
				break
			}
			for rest := batch; len(rest) > 0; {
				part := head(rest)
				q.put(part)
				rest = rest[len(part):]
			}
			q.settleOverflow()
		}
	}
}

// take returns the waiting lines, and reuses the memory of the previous batch. ends is true after
// Close, if no line is waiting.
func (q *Queue) take(written []byte) (batch []byte, ends bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch, q.pending = q.pending, written[:0]
	return batch, len(batch) == 0 && q.closing
}

// put writes one part. Earlier lost lines are reported first; if the stream does not accept the
// report, it does not get the part either.
func (q *Queue) put(part []byte) {
	written := q.sayLost() && q.write(part)
	lines := int64(0)
	if !written {
		lines = linesIn(part)
		q.lost += lines
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting -= len(part)
	q.dropped += lines
}

// settleOverflow ends an overflow after all lines that were queued before the overflow have been
// written.
func (q *Queue) settleOverflow() {
	q.mu.Lock()
	if len(q.pending) == 0 {
		q.lost += q.overflow
		q.overflow = 0
	}
	q.mu.Unlock()
	q.sayLost()
}

// sayLost reports lost lines. It returns true if none are left to report.
func (q *Queue) sayLost() bool {
	if q.lost == 0 {
		return true
	}
	q.mu.Lock()
	report := q.report
	q.mu.Unlock()
	if !q.write(report(q.lost)) {
		return false
	}
	q.lost = 0
	return true
}

// write writes one part to the stream, and records when the write began and its error. It returns
// true if there was no error.
func (q *Queue) write(part []byte) bool {
	q.mu.Lock()
	q.writing = time.Now()
	q.mu.Unlock()
	_, err := q.opts.Out.Write(part)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.writing, q.failure = time.Time{}, err
	return err == nil
}

// head returns as many whole lines as a pipe takes in one piece, or one longer line.
func head(rest []byte) []byte {
	if len(rest) <= atomicWrite {
		return rest
	}
	if end := bytes.LastIndexByte(rest[:atomicWrite], '\n'); end >= 0 {
		return rest[:end+1]
	}
	if end := bytes.IndexByte(rest, '\n'); end >= 0 {
		return rest[:end+1]
	}
	return rest
}
