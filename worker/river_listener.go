package worker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// relistenAfter is the wait between two tries to reconnect.
const relistenAfter = 2 * time.Second

// driver is River's driver with a listener that reconnects automatically.
type driver struct {
	*riverpgxv5.Driver

	logger *slog.Logger
}

func newDriver(pool *pgxpool.Pool, logger *slog.Logger) driver {
	return driver{riverpgxv5.New(pool), logger}
}

// GetListener implements riverdriver.Driver.
func (d driver) GetListener(params *riverdriver.GetListenenerParams) riverdriver.Listener {
	return &listener{Listener: d.Driver.GetListener(params), logger: d.logger, topics: make(map[string]bool)}
}

// listener reconnects while it waits, and hides lost connections from River. River would double its
// wait with each lost connection, up to a minute, however long the connections had worked. Ordered
// effects would then depend on polls. Except for Close, the methods fail only if their context
// ends. Polls find jobs whose notifications were lost.
type listener struct {
	riverdriver.Listener

	logger *slog.Logger
	mu     sync.Mutex // guards the fields below; River calls Listener's methods one at a time
	topics map[string]bool
	broken bool // true if there is no connection, or none that listens to all topics
}

// Connect implements riverdriver.Listener.
func (l *listener) Connect(ctx context.Context) error {
	return l.attempt(ctx, func() error { return l.Listener.Connect(ctx) })
}

// Close implements riverdriver.Listener.
func (l *listener) Close(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = false
	clear(l.topics)
	return l.Listener.Close(ctx)
}

// Listen implements riverdriver.Listener.
func (l *listener) Listen(ctx context.Context, topic string) error {
	l.mu.Lock()
	l.topics[topic] = true
	l.mu.Unlock()
	return l.attempt(ctx, func() error { return l.Listener.Listen(ctx, topic) })
}

// Unlisten implements riverdriver.Listener.
func (l *listener) Unlisten(ctx context.Context, topic string) error {
	l.mu.Lock()
	delete(l.topics, topic)
	l.mu.Unlock()
	return l.attempt(ctx, func() error { return l.Listener.Unlisten(ctx, topic) })
}

// Ping implements riverdriver.Listener.
func (l *listener) Ping(ctx context.Context) error {
	return l.attempt(ctx, func() error { return l.Listener.Ping(ctx) })
}

// attempt calls the function do, unless the connection is broken. If do fails, attempt marks the
// connection as broken.
func (l *listener) attempt(ctx context.Context, do func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken {
		return nil
	}
	err := do()
	if err != nil {
		l.lost(ctx, err)
	}
	if ctx.Err() == nil {
		return nil
	}
	return err
}

// lost records that the connection is broken. The caller holds mu.
func (l *listener) lost(ctx context.Context, err error) {
	if !l.broken && ctx.Err() == nil {
		l.logger.LogAttrs(ctx, slog.LevelWarn, "no notifications arrive: polling finds work until they do", errAttr(err))
	}
	l.broken = true
}

// WaitForNotification implements riverdriver.Listener.
func (l *listener) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	for {
		if err := l.mend(ctx); err != nil {
			return nil, err
		}
		n, err := l.Listener.WaitForNotification(ctx)
		if err == nil || ctx.Err() != nil {
			return n, err
		}
		l.mu.Lock()
		l.lost(ctx, err)
		l.mu.Unlock()
	}
}

// mend reconnects if the connection is broken, and retries until it succeeds or ctx ends.
func (l *listener) mend(ctx context.Context) error {
	for again := false; ; again = true {
		l.mu.Lock()
		whole := !l.broken || l.reconnect(ctx)
		l.mu.Unlock()
		if whole {
			return nil
		}
		wait := time.Duration(0)
		if again {
			wait = relistenAfter
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// reconnect opens a connection that listens to all topics, and reports whether that succeeded. The
// caller holds mu.
func (l *listener) reconnect(ctx context.Context) bool {
	_ = l.Listener.Close(ctx) // already broken
	err := l.Listener.Connect(ctx)
	for topic := range l.topics {
		if err == nil {
			err = l.Listener.Listen(ctx, topic)
		}
	}
	if err != nil {
		return false
	}
	l.broken = false
	l.logger.LogAttrs(ctx, slog.LevelInfo, "notifications arrive again")
	return true
}
