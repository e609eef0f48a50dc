package receivers

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/hooklatch/hooklatch/internal/retry"
)

// open serves HTTP on a listener, in the background, until the listener is closed. After Stop, open
// closes the listener immediately.
func (r *Receivers) open(door net.Listener) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		_ = door.Close() // no connection was accepted
		return
	}
	r.door = door
	r.serving.Go(func() { _ = r.web.Serve(door) }) // serves until Stop or Down closes the listener
}

// Down makes all HTTP destinations refuse connections, until Up. Calls in progress continue.
func (r *Receivers) Down() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.door == nil {
		return
	}
	_ = r.door.Close() // a failure cannot be handled
	r.door = nil
	r.web.SetKeepAlivesEnabled(false) // also closes idle connections
}

// Up ends the outage at the same address. If another program uses that port for its side of a
// connection, Up retries until ctx ends.
func (r *Receivers) Up(ctx context.Context) error {
	r.mu.Lock()
	away := r.door == nil
	r.mu.Unlock()
	if !away {
		return nil
	}
	r.web.SetKeepAlivesEnabled(true)
	var err error
	for range (retry.Pauses{First: 20 * time.Millisecond}).Until(ctx) {
		var door net.Listener
		if door, err = listen(ctx, r.webAddr.String()); err == nil {
			r.open(door)
			return nil
		}
	}
	return fmt.Errorf("listen for calls again: %w", err)
}
