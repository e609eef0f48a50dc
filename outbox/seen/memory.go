// Package seen shares the memory of recently committed events among processes, in Redis. Package
// outbox decides which values it stores there and which it trusts: see outbox.SharedMemory.
package seen

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/internal/drain"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Patience is the maximum time that a caller waits for Redis. A test that Redis answers within this
// time closes an open circuit.
const Patience = 5 * time.Millisecond

const (
	// maxBatch limits the values that one exchange stores.
	maxBatch = 256
	// maxKept limits the values that wait to be stored. Further values are dropped.
	maxKept = 4096
)

// Options configure a Memory.
type Options struct {
	// URL is redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], rediss:// for TLS, or
	// unix:///PATH. Required.
	URL secret.Value
	// Logger receives the log. Defaults to a logger that discards everything.
	Logger *slog.Logger
}

// Memory is an outbox.SharedMemory in a Redis that several processes share. It is safe for
// concurrent use.
//
// One goroutine communicates with Redis over one connection. The goroutine runs only while there is
// work, or while Redis does not respond. Commands that arrive during an exchange are sent together
// in the next one.
//
// A circuit keeps a slow Redis from delaying callers. It opens when an exchange fails, or when a
// caller has waited for 5 milliseconds. While it is open, Get returns immediately and Set stores
// nothing. The circuit closes when Redis has responded to a test in time. The circuit of a new
// Memory is open.
type Memory struct {
	server *server
	logger *slog.Logger
	life   context.Context //nolint:containedctx // it belongs to the goroutine, and Stop cancels it
	end    context.CancelFunc

	underway sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	open    bool       // state of the circuit
	working bool
	stopped bool
	asked   []*question
	kept    []pair
}

// question is the work of one Get.
type question struct {
	keys    []string
	answers chan [][]byte // receives nil if Redis did not respond
}

// pair is a value to be stored.
type pair struct {
	key   string
	value []byte
	ttl   time.Duration
}

// New returns a Memory. It connects when it is first used.
func New(opts Options) (*Memory, error) {
	s, err := newServer(opts.URL)
	if err != nil {
		return nil, err
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Memory{server: s, logger: opts.Logger, open: true}
	m.life, m.end = context.WithCancel(context.Background())
	return m, nil
}

// Get returns the value of each key, in order, and nil for an unknown key. It returns false after
// 5 milliseconds without a response, and immediately while the circuit is open.
func (m *Memory) Get(ctx context.Context, keys []string) (values [][]byte, ok bool) {
	q := &question{keys: keys, answers: make(chan [][]byte, 1)}
	if !m.submit(func() { m.asked = append(m.asked, q) }) {
		return nil, false
	}
	late := time.NewTimer(Patience)
	defer late.Stop()
	select {
	case values = <-q.answers:
		return values, values != nil
	case <-late.C:
		m.trip()
	case <-ctx.Done():
	}
	return nil, false
}

// Set stores a value for the time ttl, without waiting for Redis. It drops the value if the circuit
// is open, or if too many values wait already.
func (m *Memory) Set(key string, value []byte, ttl time.Duration) {
	m.submit(func() {
		if len(m.kept) < maxKept {
			m.kept = append(m.kept, pair{key, value, ttl})
		}
	})
}

// submit queues work unless the circuit is open, and reports whether it queued the work. It starts
// the goroutine if none is running; while the circuit is open, the goroutine tests Redis. After
// Stop, submit does nothing.
func (m *Memory) submit(add func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped {
		return false
	}
	if !m.open {
		add()
	}
	if !m.working {
		m.working = true
		m.underway.Go(m.work)
	}
	return !m.open
}

// trip opens the circuit.
func (m *Memory) trip() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open = true
}

// work processes the queue. It returns when Redis responds and no work is left, or after Stop.
func (m *Memory) work() {
	for {
		asked, kept, open := m.next()
		switch {
		case open:
			if !m.heal() {
				return // stopped
			}
		case len(asked)+len(kept) == 0:
			return
		default:
			m.exchange(asked, kept)
		}
	}
}

// next takes work from the queue. While the circuit is open, it drops the queued work. If
// there is no work, it deregisters the goroutine in the same critical section.
func (m *Memory) next() (asked []*question, kept []pair, open bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	asked, kept = m.asked, m.kept[:min(len(m.kept), maxBatch)]
	m.asked, m.kept = nil, m.kept[len(kept):]
	if m.open {
		m.kept = nil
		for _, q := range asked {
			q.answers <- nil
		}
		return nil, nil, true
	}
	m.working = len(asked)+len(kept) > 0
	return asked, kept, false
}

// exchange sends commands and passes each response to its caller.
func (m *Memory) exchange(asked []*question, kept []pair) {
	var keys []string
	for _, q := range asked {
		keys = append(keys, q.keys...)
	}
	values, err := m.server.exchange(keys, kept)
	if err != nil {
		m.trip()
		m.server.hangUp()
	}
	for _, q := range asked {
		if err != nil {
			q.answers <- nil
			continue
		}
		q.answers <- values[:len(q.keys):len(q.keys)]
		values = values[len(q.keys):]
	}
}

// Stop stops the goroutine and closes the connection. Later calls of Get and Set find and store
// nothing. Stop may be called again.
func (m *Memory) Stop(ctx context.Context) error {
	m.mu.Lock()
	m.stopped = true
	m.mu.Unlock()
	m.end()
	if err := drain.Wait(ctx, &m.underway); err != nil {
		return err
	}
	m.server.hangUp()
	return nil
}
