package gateway

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/time/rate"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/outbox"
)

// Limits for log lines. Any client can cause log lines, so all refusals and handshakes share one
// budget. Hooklatch's own faults and each source's replays have separate budgets of the same size,
// so that an attack cannot hide them.
const (
	linesPerSecond = 10
	linesAtOnce    = 20
)

// Limits for log lines about duplicates. Logging every duplicate would add a third to the cost of
// its response.
const (
	duplicatesPerSecond = 100
	duplicatesAtOnce    = 1000
)

// maxLoggedPath is the maximum length, in bytes, of a path in a log line about an unknown
// source. A longer path is cut.
const maxLoggedPath = 100

// deliveryLog logs the outcome of deliveries: one line for each event, and one for each empty
// delivery, handshake and refused request. A suspected replay gets a further line. Lines about
// duplicates, handshakes, refusals and suspected replays are throttled. No line contains a query
// string, a header or a body.
type deliveryLog struct {
	logger     *slog.Logger
	now        func() time.Time
	refusals   *throttle
	faults     *throttle
	duplicates *throttle
	replays    sync.Map // *throttle by source name; at most one per configured source
}

func newDeliveryLog(logger *slog.Logger, now func() time.Time) *deliveryLog {
	return &deliveryLog{
		logger: logger, now: now, refusals: newThrottle(now), faults: newThrottle(now),
		duplicates: &throttle{limiter: rate.NewLimiter(duplicatesPerSecond, duplicatesAtOnce), now: now},
	}
}

// replaysOf returns the throttle for a source's replays. A replay has a valid signature, which not
// every client can produce, so other clients must not be able to suppress its log line.
func (l *deliveryLog) replaysOf(src *source) *throttle {
	found, ok := l.replays.Load(src.Name)
	if !ok {
		found, _ = l.replays.LoadOrStore(src.Name, newThrottle(l.now))
	}
	return found.(*throttle)
}

// throttle lets a limited number of lines through and counts the suppressed ones.
type throttle struct {
	limiter    *rate.Limiter
	now        func() time.Time
	suppressed atomic.Int64
}

func newThrottle(now func() time.Time) *throttle {
	return &throttle{limiter: rate.NewLimiter(linesPerSecond, linesAtOnce), now: now}
}

// allow returns how many lines were suppressed since the last written line, and true. If no line
// may be written now, it returns 0 and false.
func (t *throttle) allow() (suppressed int64, ok bool) {
	if !t.limiter.AllowN(t.now(), 1) {
		t.suppressed.Add(1)
		return 0, false
	}
	return t.suppressed.Swap(0), true
}

func (l *deliveryLog) accepted(ctx context.Context, src *source, e outbox.AcceptedEvent, took time.Duration) {
	if !l.logger.Enabled(ctx, slog.LevelInfo) {
		return
	}
	message := "event accepted"
	if e.Status == outbox.Held {
		message = "event held"
	}
	l.logger.LogAttrs(ctx, slog.LevelInfo, message, append(eventAttrs(src, e), slog.Float64(logkey.Duration, took.Seconds()))...)
}

func (l *deliveryLog) duplicate(ctx context.Context, src *source, e outbox.AcceptedEvent, late time.Duration) {
	if !l.logger.Enabled(ctx, slog.LevelInfo) {
		return
	}
	suppressed, ok := l.duplicates.allow()
	if !ok {
		return
	}
	attrs := append(eventAttrs(src, e), slog.Float64(logkey.Late, late.Seconds()))
	if e.SameAs != "" {
		attrs = append(attrs, slog.String(logkey.Reason, "same_content"), slog.String(logkey.SameAs, string(e.SameAs)))
	}
	if e.BodyDiffers {
		attrs = append(attrs, slog.String(logkey.Reason, "body_differs"))
	}
	l.write(ctx, slog.LevelInfo, "duplicate received", suppressed, attrs)
}

// suspect logs a suspected replay. It is throttled, because an attacker can send one captured
// delivery any number of times.
func (l *deliveryLog) suspect(ctx context.Context, src *source, remote string, events []outbox.AcceptedEvent) {
	suppressed, ok := l.replaysOf(src).allow()
	if !ok {
		return
	}
	message, reason := "accepted, but its proof was used before with another id", reasonReplayed
	if events[0].Status == outbox.Held {
		message = "held until an operator decides: its proof was used before with another id"
	}
	if events[0].ContentDiffers {
		reason = reasonForged
	}
	attrs := append(sourceAttrs(src),
		slog.String(logkey.EventID, string(events[0].EventID)),
		slog.String(logkey.Reason, reason),
		slog.String(logkey.Remote, remote),
	)
	l.write(ctx, slog.LevelWarn, message, suppressed, attrs)
}

// maxEventAttrs is the initial capacity for the attributes of an event's log line.
const maxEventAttrs = 9

func eventAttrs(src *source, e outbox.AcceptedEvent) []slog.Attr {
	return append(append(make([]slog.Attr, 0, maxEventAttrs), sourceAttrs(src)...),
		slog.String(logkey.EventID, string(e.EventID)),
		slog.String(logkey.EventType, e.Type),
		slog.String(logkey.Status, string(e.Status)),
	)
}

func (l *deliveryLog) empty(ctx context.Context, src *source) {
	l.logger.LogAttrs(ctx, slog.LevelInfo, "empty delivery", sourceAttrs(src)...)
}

// handshake logs a handshake. It is throttled, because some senders do not sign their
// handshakes.
func (l *deliveryLog) handshake(ctx context.Context, src *source, remote string, status int) {
	if suppressed, ok := l.refusals.allow(); ok {
		attrs := append(sourceAttrs(src), slog.Int(logkey.Status, status), slog.String(logkey.Remote, remote))
		l.write(ctx, slog.LevelInfo, "handshake answered", suppressed, attrs)
	}
}

func (l *deliveryLog) refused(ctx context.Context, src *source, c echo.Context, r *refusal) {
	lines, level, message := l.refusals, slog.LevelWarn, "delivery refused"
	switch {
	// A slow body does not use up the budget for faults, because any client can send one.
	case r.ours() && r.result != resultIncomplete:
		lines, message = l.faults, "delivery not accepted"
	case r.replay:
		lines = l.replaysOf(src)
	}
	if r.result == resultFault {
		level = slog.LevelError
	}
	suppressed, ok := lines.allow()
	if !ok {
		return
	}
	attrs := append(sourceAttrs(src),
		slog.String(logkey.Reason, r.reason),
		slog.Int(logkey.Status, r.status),
		slog.String(logkey.Remote, c.RealIP()),
	)
	if src == nil {
		path := c.Request().URL.EscapedPath()
		attrs = append(attrs, slog.String(logkey.Path, path[:min(len(path), maxLoggedPath)]))
	}
	switch {
	case r.cause != nil:
		attrs = append(attrs, slog.Any(logkey.Err, r.cause))
	case r.result == resultInvalid:
		attrs = append(attrs, slog.String(logkey.Err, r.message))
	}
	l.write(ctx, level, message, suppressed, attrs)
}

// unread logs a request that net/http refused. Only the peer's address is known.
func (l *deliveryLog) unread(peer net.Addr, r *refusal) {
	suppressed, ok := l.refusals.allow()
	if !ok {
		return
	}
	remote := peer.String()
	if host, _, err := net.SplitHostPort(remote); err == nil {
		remote = host
	}
	l.write(context.Background(), slog.LevelWarn, "request refused before it was read", suppressed, []slog.Attr{
		slog.String(logkey.Reason, r.reason), slog.Int(logkey.Status, r.status), slog.String(logkey.Remote, remote), slog.Any(logkey.Err, r.cause),
	})
}

// write logs a line together with the number of similar lines suppressed before it.
func (l *deliveryLog) write(ctx context.Context, level slog.Level, message string, suppressed int64, attrs []slog.Attr) {
	if suppressed > 0 {
		attrs = append(attrs, slog.Int64(logkey.Count, suppressed))
	}
	l.logger.LogAttrs(ctx, level, message, attrs...)
}

// flush logs how many suppressed lines have not been reported yet. Only Stop calls it: as long as
// the gateway runs, the next line of the same kind reports them.
func (l *deliveryLog) flush() {
	n := l.refusals.suppressed.Swap(0) + l.faults.suppressed.Swap(0)
	l.replays.Range(func(_, of any) bool {
		n += of.(*throttle).suppressed.Swap(0)
		return true
	})
	if n > 0 {
		l.logger.LogAttrs(context.Background(), slog.LevelWarn, "log lines about refused deliveries suppressed", slog.Int64(logkey.Count, n))
	}
	if n := l.duplicates.suppressed.Swap(0); n > 0 {
		l.logger.LogAttrs(context.Background(), slog.LevelInfo, "log lines about duplicates suppressed", slog.Int64(logkey.Count, n))
	}
}

func sourceAttrs(src *source) []slog.Attr {
	if src == nil {
		return nil
	}
	return []slog.Attr{slog.String(logkey.Source, src.Name), slog.String(logkey.Provider, src.Provider.Name)}
}
