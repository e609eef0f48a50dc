package history

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// Writer appends records to a history. It is safe for concurrent use: the order of the lines
// is the order of their times.
type Writer struct {
	started time.Time

	mu     sync.Mutex
	lines  *bufio.Writer
	lastID int64
	err    error // the first write error; all later records are dropped
	seen   []func(Record)
}

// NewWriter begins a history now. Watchers receive each record as it is written, in order. They
// must be quick and must not write.
func NewWriter(w io.Writer, watchers ...func(Record)) *Writer {
	return &Writer{started: time.Now(), lines: bufio.NewWriterSize(w, 1<<20), seen: watchers}
}

// Begin writes the beginning of an operation. It returns the Operation with which the caller ends
// the operation.
func (w *Writer) Begin(r Record) *Operation {
	r.Kind = Invoke
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lastID++
	r.ID = w.lastID
	w.append(&r)
	return &Operation{writer: w, record: r}
}

// Add writes a record that does not begin an operation.
func (w *Writer) Add(r Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.append(&r)
}

// append sets the time of r, calls the watchers and writes r. The caller must hold w.mu.
func (w *Writer) append(r *Record) {
	r.At = time.Since(w.started).Microseconds()
	for _, seen := range w.seen {
		seen(*r)
	}
	if w.err != nil {
		return
	}
	line, err := json.Marshal(r)
	if err == nil {
		_, err = w.lines.Write(append(line, '\n'))
	}
	if err != nil {
		w.err = fmt.Errorf("write history: %w", err)
	}
}

// Flush writes out the buffered records. It returns the first write error since the history
// began: an incomplete history is useless.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.lines.Flush(); err != nil && w.err == nil {
		w.err = fmt.Errorf("write history: %w", err)
	}
	return w.err
}

// Operation is an operation that has begun.
type Operation struct {
	writer *Writer
	record Record
	once   sync.Once
}

// End writes the end of the operation, once. Further calls do nothing. The function change, which
// may be nil, adds details that are known only at the end. This function must replace the record's
// pointer members, not write through them.
func (o *Operation) End(kind Kind, text string, change func(r *Record)) {
	o.once.Do(func() {
		r := o.record
		r.Kind, r.Text = kind, text
		if change != nil {
			change(&r)
		}
		o.writer.Add(r)
	})
}
