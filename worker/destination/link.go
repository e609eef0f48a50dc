package destination

import (
	"context"
	"sync"
)

// link is the connection to a broker that the attempts of one destination share. The first attempt
// that needs the connection opens it. An attempt that finds the connection broken opens a new one.
type link[C any] struct {
	open  func(context.Context) (C, error)
	alive func(C) bool
	shut  func(C)

	turn chan struct{} // has a token while an attempt reads or replaces conn
	conn *C            // nil if none is open

	mu     sync.Mutex // guards the fields below
	users  int
	closed bool
}

func newLink[C any](open func(context.Context) (C, error), alive func(C) bool, shut func(C)) *link[C] {
	return &link[C]{open: open, alive: alive, shut: shut, turn: make(chan struct{}, 1)}
}

// begin registers an attempt. The caller must call the returned function when the attempt has
// ended.
func (l *link[C]) begin() (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.users--
		l.shutUnused()
	}
}

// get returns the connection for an attempt that has begun. If none is open, get opens one.
func (l *link[C]) get(ctx context.Context) (C, error) {
	var none C
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return none, ctx.Err()
	}
	if l.conn != nil && l.alive(*l.conn) {
		return *l.conn, nil
	}
	if l.conn != nil {
		l.shut(*l.conn)
		l.conn = nil
	}
	conn, err := l.open(ctx)
	if err != nil {
		return none, err
	}
	l.conn = &conn
	return conn, nil
}

// Close closes the connection as soon as no attempt uses it.
func (l *link[C]) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.shutUnused()
	return nil
}

// shutUnused closes a connection that is no longer needed. No attempt changes conn at the same
// time: none is running, and mu delays the next attempt.
func (l *link[C]) shutUnused() {
	if l.closed && l.users == 0 && l.conn != nil {
		l.shut(*l.conn)
		l.conn = nil
	}
}
