// Package logqueue writes log lines to a stream whose reader may be slow, stuck or closed. Callers
// of a started Queue never wait for the stream.
package logqueue

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// DefaultSize is the default of Options.Size.
	DefaultSize = 1 << 20
	// atomicWrite is Linux's PIPE_BUF: a pipe keeps a write of at most this size in one piece, even
	// with other writers.
	atomicWrite = 4096
	// stuckAfter is the time that one write may take before Trouble reports it.
	stuckAfter = 5 * time.Second
)

// Options configure a Queue.
type Options struct {
	// Out is the stream. Its Write may block, and may fail. Required.
	Out io.Writer
	// Name is the stream's name, for metrics and errors. Required.
	Name string
	// Size is the maximum number of bytes that wait to be written. Defaults to DefaultSize.
	Size int
}

// Queue writes to one stream. Before Start, writes go directly to the stream and wait for it. After
// Start, writes are queued, and one goroutine writes the queue to the stream in order. A full queue
// drops new lines until it is empty again. The stream then gets a line that says how many lines
// were dropped. A Queue is safe for concurrent use.
type Queue struct {
	opts Options
	wake chan struct{} // has an element if the goroutine must wake up

	mu       sync.Mutex
	running  bool
	report   func(lines int64) []byte
	pending  []byte // accepted bytes that the writing goroutine has not taken yet
	waiting  int    // bytes accepted and not written, including pending
	overflow int64  // lines dropped since the queue became full
	dropped  int64  // lines dropped since the start
	writing  time.Time
	failure  error // error of the last write
	closing  bool
	ended    chan struct{}

	lost int64 // lines neither written nor reported yet; used only by the writing goroutine
}

// New returns a Queue that does not queue yet.
func New(opts Options) *Queue {
	if opts.Size == 0 {
		opts.Size = DefaultSize
	}
	return &Queue{opts: opts, wake: make(chan struct{}, 1), ended: make(chan struct{})}
}

// Start starts queueing. report creates the line about the number of dropped lines; if nil, the
// line is plain text. A second call only changes report.
func (q *Queue) Start(report func(lines int64) []byte) {
	if report == nil {
		report = func(lines int64) []byte { return fmt.Appendf(nil, "lines dropped: %d\n", lines) }
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.report = report
	if !q.running {
		q.running = true
		go q.run()
	}
}

// Write queues p, which consists of whole lines, or drops p. After Start, it neither waits nor
// fails.
func (q *Queue) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.running {
		return q.opts.Out.Write(p)
	}
	if q.closing || q.overflow > 0 || q.waiting+len(p) > q.opts.Size {
		lines := linesIn(p)
		q.overflow += lines
		q.dropped += lines
		return len(p), nil
	}
	q.pending = append(q.pending, p...)
	q.waiting += len(p)
	q.signal()
	return len(p), nil
}

// Close waits until all queued lines have been written, or until ctx is done. A started queue drops
// lines that arrive after Close.
func (q *Queue) Close(ctx context.Context) {
	q.mu.Lock()
	running := q.running
	q.closing = true
	q.signal()
	q.mu.Unlock()
	if !running {
		return
	}
	select {
	case <-q.ended:
	case <-ctx.Done():
	}
}

// Name returns Options.Name.
func (q *Queue) Name() string { return q.opts.Name }

// Dropped returns the number of lines dropped since the start.
func (q *Queue) Dropped() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

// Waiting returns the number of bytes that wait to be written.
func (q *Queue) Waiting() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return int64(q.waiting)
}

// Trouble returns the reason why lines are delayed or dropped: a write that hangs, a failed last
// write, or a full queue. It returns nil if there is none.
func (q *Queue) Trouble() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch stuck := time.Since(q.writing); {
	case !q.writing.IsZero() && stuck >= stuckAfter:
		return fmt.Errorf("the log on %s: its reader has read nothing for %s; lines dropped so far: %d", q.opts.Name, stuck.Round(time.Second), q.dropped)
	case q.failure != nil:
		return fmt.Errorf("the log on %s: %w; lines dropped so far: %d", q.opts.Name, q.failure, q.dropped)
	case q.overflow > 0:
		return fmt.Errorf("the log on %s: its reader is too slow; lines dropped so far: %d", q.opts.Name, q.dropped)
	}
	return nil
}

func (q *Queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default: // already awake
	}
}

// linesIn counts lines; the last line may lack its line break.
func linesIn(p []byte) int64 {
	n := int64(bytes.Count(p, []byte{'\n'}))
	if len(p) > 0 && p[len(p)-1] != '\n' {
		n++
	}
	return n
}
