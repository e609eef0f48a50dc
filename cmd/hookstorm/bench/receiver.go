package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// receiver is the destination. It answers every call immediately and stores the time of each
// event's first call.
type receiver struct {
	server  *http.Server
	address string
	serving sync.WaitGroup

	mu      sync.Mutex
	first   map[string]time.Time // first call by event id
	order   []time.Time          // the times in first, ascending
	calls   int
	fetched int           // number of received events that no webhook delivered
	changed chan struct{} // closed at the next call
}

// newReceiver returns a receiver that listens on a free loopback port.
func newReceiver() (*receiver, error) {
	r := &receiver{}
	r.forget()
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for calls: %w", err)
	}
	r.address = door.Addr().String()
	r.open(door)
	return r, nil
}

func (r *receiver) open(door net.Listener) {
	server := &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}
	r.server = server
	r.serving.Go(func() { _ = server.Serve(door) }) // serves until the server is closed
}

// forget deletes the records of all earlier calls.
func (r *receiver) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first, r.order, r.calls, r.fetched, r.changed = map[string]time.Time{}, nil, 0, 0, make(chan struct{})
}

// ServeHTTP records a call and answers 200. It does not record a call whose body was cut off.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	id := idOf(body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	if _, known := r.first[id]; !known {
		r.first[id] = at
		r.order = append(r.order, at)
		if request.Header.Get(destination.HeaderOrigin) != "" {
			r.fetched++
		}
	}
	close(r.changed)
	r.changed = make(chan struct{})
	w.WriteHeader(http.StatusOK)
}

// idOf returns the event id in a body: the first value that is a string.
func idOf(body []byte) string {
	_, rest, _ := bytes.Cut(body, []byte(`:"`))
	id, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(id)
}

// seen returns the arrival times of events, in order, and the number of calls.
func (r *receiver) seen() (order []time.Time, calls int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.order, r.calls
}

// of returns an event's arrival time, or false if it has not arrived.
func (r *receiver) of(id string) (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.first[id]
	return at, ok
}

// await waits until n events have arrived.
func (r *receiver) await(ctx context.Context, n int) error {
	return r.until(ctx, func() bool { return len(r.order) >= n }, func() string { return fmt.Sprintf("%d of %d events arrived", len(r.order), n) })
}

// awaitFetched waits until n events have arrived that no webhook delivered.
func (r *receiver) awaitFetched(ctx context.Context, n int) error {
	return r.until(ctx, func() bool { return r.fetched >= n }, func() string { return fmt.Sprintf("%d of %d fetched events arrived", r.fetched, n) })
}

// awaitEvent waits until an event has arrived.
func (r *receiver) awaitEvent(ctx context.Context, id string) error {
	return r.until(ctx, func() bool { return !r.first[id].IsZero() }, func() string { return "event " + id + " did not arrive" })
}

// until waits until a condition holds. It checks the condition after each call.
func (r *receiver) until(ctx context.Context, holds func() bool, lack func() string) error {
	for {
		r.mu.Lock()
		held, missing, changed := holds(), lack(), r.changed
		r.mu.Unlock()
		if held {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for the receiver: %s: %w", missing, context.Cause(ctx))
		}
	}
}

// down makes the receiver refuse connections, and closes the open ones, including connections on
// which no data has arrived yet.
func (r *receiver) down() {
	_ = r.server.Close() // the connections are closed even if Close fails
	r.serving.Wait()
}

// up reopens the receiver at the same address after down.
func (r *receiver) up(ctx context.Context) error {
	var err error
	for range (retry.Pauses{First: 10 * time.Millisecond}).Until(ctx) {
		var door net.Listener
		if door, err = net.Listen("tcp", r.address); err == nil {
			r.open(door)
			return nil
		} // Listen fails while another program uses the port for its side of a connection
	}
	return errors.Join(fmt.Errorf("listen for calls again: %w", err), context.Cause(ctx))
}

func (r *receiver) stop() { r.down() }
