package ondemand

import (
	"context"
	"sync"
	"time"
)

const (
	// maxKeys is the maximum number of callers that share one statement.
	maxKeys = 64
	// maxReading is the maximum number of simultaneous statements.
	maxReading = 2
	// timeout limits one statement. No caller's context ends the statement.
	timeout = 10 * time.Second
)

// Reader reads values by their keys. At most two statements run at the same time. Callers that
// arrive meanwhile share the next statement. There is no timer, so a single caller has the latency
// of its own statement. A Reader is safe for concurrent use.
type Reader[K comparable, V any] struct {
	read func(ctx context.Context, keys []K) (map[K]V, error)

	mu      sync.Mutex
	asked   []*asked[K, V]
	reading int
}

// asked is one caller's request.
type asked[K comparable, V any] struct {
	key  K
	done chan answer[V]
}

type answer[V any] struct {
	value V
	found bool
	err   error
}

// NewReader returns a Reader. The function read receives distinct keys and omits the keys that it
// does not find. Its error is returned to every caller in the batch.
func NewReader[K comparable, V any](read func(ctx context.Context, keys []K) (map[K]V, error)) *Reader[K, V] {
	return &Reader[K, V]{read: read}
}

// Get reads the value of a key; found is false if the key has no value. The value is not shared
// with other callers. Errors: errors from ctx and from the function read.
func (r *Reader[K, V]) Get(ctx context.Context, key K) (value V, found bool, err error) {
	a := &asked[K, V]{key: key, done: make(chan answer[V], 1)}
	r.mu.Lock()
	r.asked = append(r.asked, a)
	if r.reading < maxReading {
		r.reading++
		go r.readUntilEmpty()
	}
	r.mu.Unlock()
	select {
	case got := <-a.done:
		return got.value, got.found, got.err
	case <-ctx.Done():
		return value, false, context.Cause(ctx)
	}
}

// readUntilEmpty reads batches until no caller waits. An idle Reader therefore has no goroutine.
func (r *Reader[K, V]) readUntilEmpty() {
	for batch := r.take(); len(batch) > 0; batch = r.take() {
		keys := make([]K, 0, len(batch))
		for key := range batch {
			keys = append(keys, key)
		}
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		values, err := r.read(ctx, keys)
		cancel()
		for key, a := range batch {
			value, found := values[key]
			a.done <- answer[V]{value: value, found: found, err: err}
		}
	}
}

// take removes the next batch. A caller whose key is already in the batch waits for the next batch,
// because values are not shared. If no caller waits, take deregisters the reading goroutine.
func (r *Reader[K, V]) take() map[K]*asked[K, V] {
	r.mu.Lock()
	defer r.mu.Unlock()
	batch := make(map[K]*asked[K, V], min(len(r.asked), maxKeys))
	var left []*asked[K, V]
	for _, a := range r.asked {
		if _, twice := batch[a.key]; twice || len(batch) == maxKeys {
			left = append(left, a)
			continue
		}
		batch[a.key] = a
	}
	r.asked = left
	if len(batch) == 0 {
		r.reading--
	}
	return batch
}
