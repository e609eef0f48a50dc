package crashtest

import (
	"crypto/sha256"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// receiver records every call and applies each key once, as a good receiver does.
type receiver struct {
	url string

	mu      sync.Mutex
	calls   map[string][][sha256.Size]byte // hashes of the bodies, by key
	applied map[string]int
	times   []time.Time
	hold    chan struct{} // responses wait until it is closed; if nil, they do not wait
	held    int
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{calls: make(map[string][][sha256.Size]byte), applied: make(map[string]int)}
	server := httptest.NewServer(r)
	t.Cleanup(func() {
		r.release()
		server.Close()
	})
	r.url = server.URL
	return r
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(_ http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // the request is incomplete
	}
	key := request.Header.Get("Idempotency-Key")
	r.mu.Lock()
	r.times = append(r.times, time.Now())
	r.calls[key] = append(r.calls[key], sha256.Sum256(body))
	if len(r.calls[key]) == 1 {
		r.applied[key]++
	}
	hold := r.hold
	if hold != nil {
		r.held++
	}
	r.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-request.Context().Done():
		}
	}
}

// holdAnswers makes responses to calls wait from now on.
func (r *receiver) holdAnswers() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hold, r.held = make(chan struct{}), 0
}

// answerOthers makes the receiver respond to all later calls immediately. Calls that are already
// waiting keep waiting until the returned function is called.
func (r *receiver) answerOthers() (release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	hold := r.hold
	r.hold = nil
	return func() { close(hold) }
}

// release responds to the calls that wait. Later calls get their responses immediately.
func (r *receiver) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hold != nil {
		close(r.hold)
		r.hold = nil
	}
}

func (r *receiver) waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held
}

// callsOf counts the calls with a key.
func (r *receiver) callsOf(key string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.calls[key])
}

func (r *receiver) total() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.times)
}
