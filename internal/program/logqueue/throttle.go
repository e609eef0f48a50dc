package logqueue

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"

	"github.com/hooklatch/hooklatch/internal/logkey"
)

const (
	// linesASecond and linesAtOnce limit the lines with the same message.
	linesASecond = 1
	linesAtOnce  = 10
	// maxMessages is the number of messages with separate limits. All others share one limit.
	maxMessages = 64
)

// Throttled returns a handler that limits the lines that it passes to next: at most 10 lines with
// the same message at once, and then one line per second. The next line with that message that
// passes contains the number of omitted lines, under logkey.Count. Throttled is for lines that
// unauthenticated clients or viewers can cause without limit.
func Throttled(next slog.Handler) slog.Handler {
	return &throttled{Handler: next, lines: &lines{of: map[string]*message{}}}
}

type throttled struct {
	slog.Handler

	lines *lines // shared with handlers from WithAttrs and WithGroup
}

// lines limits and counts the lines of each message.
type lines struct {
	mu sync.Mutex
	of map[string]*message
}

type message struct {
	limiter *rate.Limiter
	left    atomic.Int64 // number of lines omitted since the last line that passed
}

func (l *lines) message(text string) *message {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[text] == nil && len(l.of) >= maxMessages {
		text = ""
	}
	if l.of[text] == nil {
		l.of[text] = &message{limiter: rate.NewLimiter(linesASecond, linesAtOnce)}
	}
	return l.of[text]
}

// Handle implements slog.Handler.
func (t *throttled) Handle(ctx context.Context, r slog.Record) error {
	m := t.lines.message(r.Message)
	if !m.limiter.AllowN(r.Time, 1) {
		m.left.Add(1)
		return nil
	}
	if left := m.left.Swap(0); left > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int64(logkey.Count, left))
	}
	return t.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (t *throttled) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &throttled{t.Handler.WithAttrs(attrs), t.lines}
}

// WithGroup implements slog.Handler.
func (t *throttled) WithGroup(name string) slog.Handler {
	return &throttled{t.Handler.WithGroup(name), t.lines}
}
