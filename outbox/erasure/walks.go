package erasure

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// walks holds the positions that this process's redactions remember between two calls. If every
// call began again with the first event, a walk that takes longer than a call would never reach the
// last events.
type walks struct {
	mu      sync.Mutex
	calls   int
	waiting map[identity.Source]identity.EventID // last waiting event that was read, if more follow
}

// inTurn returns the redactions in a rotated order: each call begins with the next source.
func (w *walks) inTurn(redactions []Redaction) []Redaction {
	if len(redactions) == 0 {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	first := w.calls % len(redactions)
	w.calls++
	return slices.Concat(redactions[first:], redactions[:first])
}

func (w *walks) left(source identity.Source) identity.EventID {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting[source]
}

// leave stores the position at which the walk over a source's waiting events continues. The empty
// position is the beginning.
func (w *walks) leave(source identity.Source, at identity.EventID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting == nil {
		w.waiting = make(map[identity.Source]identity.EventID)
	}
	w.waiting[source] = at
}

// halfOver returns a function that reports whether ctx is done, or half of the time until its deadline
// has passed.
func halfOver(ctx context.Context) func() bool {
	now := time.Now()
	deadline, limited := ctx.Deadline()
	half := now.Add(deadline.Sub(now) / 2)
	return func() bool { return ended(ctx) || limited && !time.Now().Before(half) }
}
