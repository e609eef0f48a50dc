package outbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/recent"
	"github.com/hooklatch/hooklatch/internal/redisserver"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/outbox/seen"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// startRedis starts a server. CI must have Redis; elsewhere the test is skipped without it.
func startRedis(t *testing.T) *redisserver.Server {
	t.Helper()
	server, err := redisserver.Start(t.Context())
	if errors.Is(err, redisserver.ErrNotInstalled) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop()) })
	return server
}

// sharing returns an option with which an Outbox uses server as its shared memory.
func sharing(t *testing.T, server *redisserver.Server) func(*Options) {
	t.Helper()
	return func(opts *Options) {
		memory, err := seen.New(seen.Options{URL: secret.New(server.URL())})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, memory.Stop(context.Background())) })
		opts.Shared = memory
	}
}

// shares delivers an event to b until the shared memory has the event.
func (b *bundle) shares(t *testing.T, d Delivery) {
	t.Helper()
	ref := identity.EventRef{Source: d.Source, EventID: d.Events[0].ID}
	require.Eventually(t, func() bool {
		if _, err := b.Accept(context.Background(), d); err != nil {
			return false
		}
		b.forget(ref)
		_, ok := b.shared.find(context.Background(), []identity.EventRef{ref})
		b.forget(ref)
		return ok
	}, 2*time.Minute, time.Millisecond)
}

// forget removes an event from the memory of the process, so that the next lookup needs the shared
// memory.
func (b *bundle) forget(ref identity.EventRef) { b.recent.Keep(-1, ref, recent.Event{}) }

// unstore deletes an event's row. Without the shared memory, the event would be accepted again.
func (b *bundle) unstore(t *testing.T, id string) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), `DELETE FROM hooklatch.processed_events WHERE event_id = $1`, id)
	require.NoError(t, err)
}

// hit looks up d, which only the shared memory contains, until the look-up succeeds. It returns the
// first event of d.
func (b *bundle) hit(t *testing.T, d Delivery) (e AcceptedEvent) {
	t.Helper()
	require.Eventually(t, func() bool {
		known, ok := b.knownAgain(context.Background(), d)
		if ok {
			e = known.Events[0]
		}
		return ok
	}, 2*time.Minute, time.Millisecond)
	return e
}

func TestGatewaysShareTheirMemory(t *testing.T) {
	t.Parallel()
	server, pool := startRedis(t), pgtest.New(t)
	one, two := onPool(t, pool, sharing(t, server)), onPool(t, pool, sharing(t, server))
	first, err := one.Accept(t.Context(), delivery("stripe", "evt_1"))
	require.NoError(t, err)
	one.shares(t, delivery("stripe", "evt_1"))
	one.unstore(t, "evt_1")
	again := delivery("stripe", "evt_1")
	again.Body = []byte(`{"attempt":2}`)
	e := two.hit(t, again)
	require.Equal(t, Duplicate, e.Status)
	require.Equal(t, first.Events[0].AcceptanceID, e.AcceptanceID)
	require.True(t, first.Events[0].FirstReceivedAt.Equal(e.FirstReceivedAt))
	require.True(t, e.BodyDiffers)
	require.Eventually(t, func() bool {
		_, found := two.recent.Find(e.EventRef)
		return found
	}, 2*time.Minute, time.Millisecond, "a hit is remembered in the process")

	_, ok := two.knownAgain(t.Context(), delivery("stripe", "evt_1", "evt_2"))
	require.False(t, ok, "the events of a delivery are known together or not at all")
	_, ok = two.knownAgain(t.Context(), delivery("github", "evt_1"))
	require.False(t, ok, "keys are scoped to their source")

	// After Redis was emptied, the database decides.
	two.forget(e.EventRef)
	require.NoError(t, server.Command(t.Context(), "FLUSHALL"))
	a, err := two.Accept(t.Context(), delivery("stripe", "evt_1"))
	require.NoError(t, err)
	require.Equal(t, 1, a.New())
	require.NoError(t, two.Stop(t.Context()))
	require.Equal(t, 1, two.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
}

// A delivery may skip the query of its replay guard only if the guard has recorded its proof and
// content. The cache of a process follows the same rule.
func TestSharedMemoryKnowsGuardedEventsByTheirProofOnly(t *testing.T) {
	t.Parallel()
	server, pool := startRedis(t), pgtest.New(t)
	one, two := onPool(t, pool, sharing(t, server)), onPool(t, pool, sharing(t, server))
	guarded := func(proof, content string) Delivery {
		d := delivery("github", "evt_1")
		d.ReplayGuard = &ReplayGuard{Proof: []byte(proof), Content: []byte(content), Action: ReplayRefuse}
		return d
	}
	one.shares(t, guarded("signature", "content"))
	two.hit(t, guarded("signature", "content"))
	for name, other := range map[string]Delivery{
		"another proof": guarded("signature2", "content"), "another content": guarded("signature", "content2"), "no guard": delivery("github", "evt_1"),
	} {
		two.forget(identity.EventRef{Source: "github", EventID: "evt_1"})
		_, ok := two.knownAgain(t.Context(), other)
		require.False(t, ok, name)
	}
	windowed := guarded("signature", "content")
	windowed.ContentWindow = time.Hour
	_, ok := two.knownAgain(t.Context(), windowed)
	require.False(t, ok, "another event may have the same content")
}

// liar is a SharedMemory that returns the values that a test chooses.
type liar struct {
	mu     sync.Mutex
	values map[string][]byte
	lie    func(values map[string][]byte, key string) []byte
	ttls   []time.Duration
}

func (l *liar) Get(_ context.Context, keys []string) (values [][]byte, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range keys {
		values = append(values, l.lie(l.values, key))
	}
	return values, true
}

func (l *liar) Set(key string, value []byte, ttl time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.values[key], l.ttls = value, append(l.ttls, ttl)
}

func (l *liar) tells(lie func(values map[string][]byte, key string) []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lie = lie
}

func honest(values map[string][]byte, key string) []byte { return values[key] }

func newLiar() *liar { return &liar{values: map[string][]byte{}, lie: honest} }

// onLiar returns an Outbox that uses l as its shared memory. The test chooses the life of the
// database (see recent.Life).
func onLiar(t *testing.T, l *liar, life *atomic.Value, options ...func(*Options)) *bundle {
	t.Helper()
	b := onPool(t, pgtest.New(t), append(options, func(opts *Options) { opts.Shared = l })...)
	b.always(t, life)
	b.shared.recent = b.recent
	return b
}

// An event that is not committed is accepted, whatever a shared memory returns.
func TestSharedMemoryIsNotBelieved(t *testing.T) {
	t.Parallel()
	l := newLiar()
	var life atomic.Value
	life.Store("one")
	b := onLiar(t, l, &life)
	b.shares(t, delivery("stripe", "evt_1"))
	any1 := func(values map[string][]byte) []byte { return slices.Clone(slices.Collect(maps.Values(values))[0]) }
	n := 1
	for name, lie := range map[string]func(values map[string][]byte, key string) []byte{
		"the value of another event": func(values map[string][]byte, _ string) []byte { return any1(values) },
		"half a value":               func(values map[string][]byte, _ string) []byte { return any1(values)[:valueSize/2] },
		"no mac":                     func(values map[string][]byte, _ string) []byte { return any1(values)[:valueSize-macSize] },
		"zeros":                      func(map[string][]byte, string) []byte { return make([]byte, valueSize) },
		"nothing":                    func(map[string][]byte, string) []byte { return []byte{} },
		"a text":                     func(map[string][]byte, string) []byte { return []byte("duplicate") },
		"a megabyte":                 func(map[string][]byte, string) []byte { return make([]byte, 1<<20) },
	} {
		l.tells(lie)
		n++
		a, err := b.Accept(t.Context(), delivery("stripe", fmt.Sprint("evt_", n)))
		require.NoError(t, err)
		require.Equal(t, 1, a.New(), name)
	}
	// A value with one wrong byte, at any place, is refused.
	l.tells(honest)
	ref := identity.EventRef{Source: "stripe", EventID: "evt_1"}
	for at := range valueSize {
		b.forget(ref)
		l.tells(func(values map[string][]byte, key string) []byte {
			value := slices.Clone(values[key])
			value[at] ^= 1
			return value
		})
		_, ok := b.shared.find(t.Context(), []identity.EventRef{ref})
		require.False(t, ok, at)
	}
}

// In its next life (see recent.Life), the database may lack an event that the shared memory has.
func TestSharedMemoryIsVoidInTheNextLifeOfTheDatabase(t *testing.T) {
	t.Parallel()
	l := newLiar()
	var life atomic.Value
	life.Store("one")
	b := onLiar(t, l, &life)
	b.shares(t, delivery("stripe", "evt_1"))
	b.unstore(t, "evt_1")
	// The memory returns a value of the previous life for every key.
	stale := slices.Clone(slices.Collect(maps.Values(l.values))[0])
	l.tells(func(map[string][]byte, string) []byte { return stale })
	before := b.recent.Life()
	life.Store("two")
	require.Eventually(t, func() bool {
		_, current, known := b.recent.Current()
		return known && current != before
	}, 2*time.Minute, time.Millisecond)
	a, err := b.Accept(t.Context(), delivery("stripe", "evt_1"))
	require.NoError(t, err)
	require.Equal(t, 1, a.New(), "its row was deleted")

	// A transaction whose COMMIT is confirmed after the change stores nothing in the shared memory.
	l.tells(honest)
	kept := len(l.ttls)
	b.shared.keep(before, identity.EventRef{Source: "stripe", EventID: "evt_2"}, recent.Event{ReceivedAt: time.Now()})
	require.Len(t, l.ttls, kept)
}

// Two installations may use one Redis, even if their sources and events have the same names.
func TestInstallationsShareNoEvents(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	one, two := setup(t, sharing(t, server)), setup(t, sharing(t, server))
	one.shares(t, delivery("stripe", "evt_1"))
	two.shares(t, delivery("stripe", "evt_2")) // now Redis and the database of the outbox two have responded
	a, err := two.Accept(t.Context(), delivery("stripe", "evt_1"))
	require.NoError(t, err)
	require.Equal(t, 1, a.New())
}

// Only events whose COMMIT was confirmed are stored, and only for as long as retention certainly
// keeps their rows.
func TestSharedMemoryKeepsCommittedYoungEvents(t *testing.T) {
	t.Parallel()
	l := newLiar()
	b, _, f := onFaultyPool(t, func(opts *Options) {
		opts.AcceptTimeout, opts.Shared, opts.SharedTTL = 500*time.Millisecond, l, time.Hour
	})
	var life atomic.Value
	life.Store("one")
	b.always(t, &life)
	b.shared.recent = b.recent
	n := 0
	require.Eventually(t, func() bool {
		n++
		_, err := b.Accept(t.Context(), delivery("stripe", fmt.Sprint("evt_warm_", n))) // a new event each time, because the count of a duplicate has its own COMMIT
		return err == nil && len(l.ttls) > 0
	}, 2*time.Minute, time.Millisecond)
	require.Greater(t, l.ttls[0], 50*time.Minute)
	require.LessOrEqual(t, l.ttls[0], time.Hour)
	kept := len(l.values)
	b.acceptUnheard(t, f, delivery("stripe", "evt_1"))
	require.Len(t, l.values, kept)

	old := identity.EventRef{Source: "stripe", EventID: "evt_old"}
	require.Eventually(t, func() bool {
		name, current, known := b.recent.Current()
		if !known {
			return false
		}
		b.shared.keep(current, old, recent.Event{ReceivedAt: time.Now().Add(-2 * time.Hour)})
		require.Len(t, l.values, kept, "retention may already delete the event's row")
		seal := sealOf(name)
		key := seal.key(old)
		l.values[key] = seal.close(key, recent.Event{AcceptanceID: uuid.New(), ReceivedAt: time.Now().Add(-2 * time.Hour)})
		_, ok := b.shared.find(t.Context(), []identity.EventRef{old})
		require.False(t, ok, "Redis should have deleted it an hour ago")
		return true
	}, 2*time.Minute, time.Millisecond)
}

// While Redis is unavailable, the database decides.
func TestAcceptNeedsNoSharedMemory(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	b := setup(t, sharing(t, server))
	b.shares(t, delivery("stripe", "evt_1"))
	for i, fault := range []func() error{server.Freeze, server.Kill} {
		require.NoError(t, fault())
		for n := range 20 {
			id := fmt.Sprintf("evt_%d_%d", i, n)
			a, err := b.Accept(t.Context(), delivery("stripe", id))
			require.NoError(t, err)
			require.Equal(t, 1, a.New())
			b.forget(a.Events[0].EventRef)
			a, err = b.Accept(t.Context(), delivery("stripe", id))
			require.NoError(t, err)
			require.Equal(t, 1, a.Duplicates())
		}
	}
}
