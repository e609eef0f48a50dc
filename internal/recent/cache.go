// Package recent remembers recently committed events, so that a duplicate is recognised
// without a query, as long as the database is the same.
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
	// maxWeight limits a Cache's memory, in bytes: about 50,000 events.
	maxWeight = 16 << 20
	// overhead is an entry's size without its key's texts: the value and the cache's own data.
	overhead = 256
	// remembered is how long an event is remembered after the last call of Keep for it. A storm of
	// duplicates arrives within seconds. An operator who deletes an event by hand, so that it can
	// be accepted again, waits at most this long.
	remembered = time.Minute
	// vouched is how long the database's confirmation of its identity stays valid, counted from
	// the query.
	vouched    = time.Second
	askTimeout = time.Second
)

// Event is the remembered state of a committed event.
type Event struct {
	AcceptanceID uuid.UUID
	ReceivedAt   time.Time
	Hash         [sha256.Size]byte // hash of its payload; zero if the payload was never seen
	// Guard identifies the entry that the delivery stored for a replay guard in the same COMMIT;
	// zero if it stored none.
	Guard [sha256.Size]byte
}

// Life is a period in which the database stays the same. It ends when a standby is promoted, a
// backup is restored, or the server restarts.
type Life int64

// Ask returns a text that differs in each life of the database.
type Ask func(ctx context.Context) (string, error)

// Cache recognises committed events. It has a size limit and is safe for concurrent use.
type Cache struct {
	ask    Ask
	failed func(error)
	began  time.Time // reference for all times
	events *otter.Cache[identity.EventRef, entry]
	state  atomic.Pointer[state]

	mu       sync.Mutex // guards the fields below
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

// state is the database's last response.
type state struct {
	life     Life
	name     string        // the life's name, as returned by Ask
	askedAt  time.Duration // time of the query
	answered bool          // true if the last query returned the name
}

// New returns a Cache. The Cache queries the database only after a hit in Find or a call of
// Current, and calls failed if a query fails.
func New(ask Ask, failed func(error)) *Cache {
	c := &Cache{
		ask: ask, failed: failed, began: time.Now(), lastAsk: -vouched,
		events: otter.Must(&otter.Options[identity.EventRef, entry]{
			MaximumWeight: maxWeight,
			Weigher: func(ref identity.EventRef, _ entry) uint32 {
				return uint32(len(ref.Source) + len(ref.EventID) + overhead) //nolint:gosec // ids have 255 bytes at most
			},
			Executor: func(f func()) { f() }, // needs no goroutine, which would have to be stopped
		}),
	}
	c.state.Store(&state{})
	return c
}

// Life returns the current life. Call it before a transaction begins, and pass it to Keep with
// the events that the transaction has committed.
func (c *Cache) Life() Life { return c.state.Load().life }

// Keep remembers an event whose COMMIT was confirmed: with synchronous replication, the standby
// has it too. If the life has changed since the event's transaction began, Find does not return
// the event.
func (c *Cache) Keep(in Life, ref identity.EventRef, e Event) {
	ref.EventID = identity.EventID(strings.Clone(string(ref.EventID))) // a part of the body would keep the body in memory
	c.events.Set(ref, entry{Event: e, life: in, keptAt: time.Since(c.began)})
}

// Find returns an event that is committed in the current database, if the identity of that database
// was confirmed within the last second. An event that Find does not return may be committed
// nevertheless.
func (c *Cache) Find(ref identity.EventRef) (Event, bool) {
	e, found := c.events.GetIfPresent(ref)
	if !found {
		return Event{}, false
	}
	if time.Since(c.began)-e.keptAt > remembered {
		return Event{}, false
	}
	_, life, known := c.Current()
	return e.Event, known && e.life == life
}

// Current returns the current life and its name, if the database confirmed them within the last
// second. Otherwise it returns false and queries the database in the background.
func (c *Cache) Current() (name string, life Life, known bool) {
	now, state := time.Since(c.began), c.state.Load()
	if !state.answered || now-state.askedAt > vouched {
		c.askAgain(now)
		return "", 0, false
	}
	return state.name, state.life, true
}

// askAgain queries the database in the background, at most once a second.
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

// Stop prevents further queries, and waits until the running query has ended or ctx is done. Later
// calls to Find may use the last response for another second. Stop may be called again.
func (c *Cache) Stop(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	return drain.Wait(ctx, &c.underway)
}
