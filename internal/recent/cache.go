// Package recent remembers events that were committed a moment ago, so that a duplicate
// is recognised without a query, for as long as the database is the same one.
package recent

import (
	"context"
	"crypto/sha256"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/maypok86/otter/v2"

	"github.com/hooklatch/hooklatch/internal/drain"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

const (
	// maxWeight bounds the memory of a Cache, in bytes: some 50,000 events.
	maxWeight = 16 << 20
	// overhead is what an entry takes beside the texts of its key: the value, and
	// what the cache keeps with it.
	overhead = 256
	// remembered is for how long an event is known after its last COMMIT. A storm
	// comes within seconds. Whoever deletes an event by hand, so that it may come
	// again, waits no longer than this.
	remembered = time.Minute
	// vouched is for how long the word of the database counts that it is the same
	// one, from the moment it was asked.
	vouched    = time.Second
	askTimeout = time.Second
)

// Event is what is known of an event that was committed.
type Event struct {
	AcceptanceID uuid.UUID
	ReceivedAt   time.Time
	Hash         [sha256.Size]byte // of its payload; zero where that was never seen
	// Guard is what its delivery gave a replay guard to remember, in the same
	// COMMIT; zero where there is none.
	Guard [sha256.Size]byte
}

// Life is a time in which the database was one and the same: until a standby is
// promoted, a backup is restored, or the server starts anew.
type Life int64

// Ask returns a text that is another one in each life of the database.
type Ask func(ctx context.Context) (string, error)

// Cache knows events again. It is bounded, and safe for concurrent use.
type Cache struct {
	ask    Ask
	failed func(error)
	began  time.Time // all times are since then
	events *otter.Cache[identity.EventRef, entry]
	state  atomic.Pointer[state]

	mu       sync.Mutex // guards what follows
	asking   bool
	lastAsk  time.Duration
	closed   bool
	underway sync.WaitGroup
}

type entry struct {
	Event

	life   Life
	keptAt time.Duration
}

// state is what the database said last.
type state struct {
	life     Life
	name     string        // of that life, as Ask has it
	askedAt  time.Duration // when it was asked
	answered bool          // and what it said was the name
}

// New returns a Cache. It asks only while there are hits; failed is told when
// the database does not answer.
func New(ask Ask, failed func(error)) *Cache {
	c := &Cache{
		ask: ask, failed: failed, began: time.Now(), lastAsk: -vouched,
		events: otter.Must(&otter.Options[identity.EventRef, entry]{
			MaximumWeight: maxWeight,
			Weigher: func(ref identity.EventRef, _ entry) uint32 {
				return uint32(len(ref.Source) + len(ref.EventID) + overhead) //nolint:gosec // ids have 255 bytes at most
			},
			Executor: func(f func()) { f() }, // it has no goroutine to end
		}),
	}
	c.state.Store(&state{})
	return c
}

// Life is the one that goes on. Ask for it before a transaction begins, and keep
// under it what the transaction has committed.
func (c *Cache) Life() Life { return c.state.Load().life }

// Keep remembers an event whose COMMIT was heard: with synchronous replication the
// standby has it too. In another life than the one its transaction began in, it is
// not found.
func (c *Cache) Keep(in Life, ref identity.EventRef, e Event) {
	ref.EventID = identity.EventID(strings.Clone(string(ref.EventID))) // it may be a part of the body
	c.events.Set(ref, entry{Event: e, life: in, keptAt: time.Since(c.began)})
}

// Find returns an event that is committed in the database as it is now, or was a
// second ago. What it does not find may be committed all the same.
func (c *Cache) Find(ref identity.EventRef) (Event, bool) {
	e, found := c.events.GetIfPresent(ref)
	if !found {
		return Event{}, false
	}
	now, state := time.Since(c.began), c.state.Load()
	if now-e.keptAt > remembered {
		return Event{}, false
	}
	if !state.answered || now-state.askedAt > vouched {
		c.askAgain(now)
		return Event{}, false
	}
	return e.Event, e.life == state.life
}

// askAgain asks the database in the background, at most once a second.
func (c *Cache) askAgain(now time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asking || c.closed || now-c.lastAsk < vouched {
		return
	}
	c.asking, c.lastAsk = true, now
	c.underway.Go(c.askNow)
}

func (c *Cache) askNow() {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	before := *c.state.Load()
	after := before
	after.askedAt = time.Since(c.began)
	name, err := c.ask(ctx)
	after.answered = err == nil
	if err != nil {
		c.failed(err)
	} else if name != before.name {
		after.name, after.life = name, before.life+1
		c.events.InvalidateAll()
	}
	c.state.Store(&after)

	c.mu.Lock()
	defer c.mu.Unlock()
	c.asking = false
}

// Stop waits until nothing is asked any more, or ctx is done. What is found after
// it may be used for a second more. It may be called again.
func (c *Cache) Stop(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	return drain.Wait(ctx, &c.underway)
}
