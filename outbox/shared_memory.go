package outbox

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/recent"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// SharedMemory stores values for several processes, as Redis does: see package seen. Accept looks
// for duplicates there before it queries the database. A SharedMemory may lose values, and may
// return old, foreign or wrong values. Accept therefore authenticates every value, for one event in
// one life of the database (see recent.Life).
type SharedMemory interface {
	// Get returns the value of each key, in order, and nil for an unknown key. It returns false if it
	// has no result in time, because deliveries wait for the result.
	Get(ctx context.Context, keys []string) (values [][]byte, ok bool)
	// Set stores a value for a time. It does not wait.
	Set(key string, value []byte, ttl time.Duration)
}

// The limits of Options.SharedTTL.
const (
	DefaultSharedTTL = 10 * time.Minute
	MaxSharedTTL     = 24 * time.Hour
)

// sharedEvents remembers committed events in a SharedMemory. Accept queries it after this process's
// Cache, and never for deliveries with a content window. A nil sharedEvents remembers nothing.
type sharedEvents struct {
	memory SharedMemory
	// ttl is the time for which an event can be found after its receipt. Retention keeps the event's
	// row for at least twice as long.
	ttl     time.Duration
	recent  *recent.Cache
	lookups metric.Int64Counter
}

func newSharedEvents(opts Options, cache *recent.Cache) (*sharedEvents, error) {
	if opts.Shared == nil {
		return nil, nil //nolint:nilnil // a nil sharedEvents is ready for use
	}
	lookups, err := meterOf(opts).Int64Counter("hooklatch.seen_cache.lookups",
		metric.WithDescription("Deliveries looked up in the shared memory of duplicates, by result: hit, miss, or unavailable."), metric.WithUnit("{delivery}"))
	if err != nil {
		return nil, fmt.Errorf("outbox options: MeterProvider: %w", err)
	}
	return &sharedEvents{memory: opts.Shared, ttl: opts.SharedTTL, recent: cache, lookups: lookups}, nil
}

// The results of a lookup.
var (
	lookupHit         = metric.WithAttributeSet(attribute.NewSet(attribute.String("result", "hit")))
	lookupMiss        = metric.WithAttributeSet(attribute.NewSet(attribute.String("result", "miss")))
	lookupUnavailable = metric.WithAttributeSet(attribute.NewSet(attribute.String("result", "unavailable")))
)

// find returns the given events if the memory contains all of them, as committed in the current
// database and received within ttl. Otherwise it returns false. It also returns false if the
// current life of the database was not confirmed within the last second. find also adds the events
// to this process's Cache.
func (s *sharedEvents) find(ctx context.Context, refs []identity.EventRef) (events []recent.Event, ok bool) {
	if s == nil {
		return nil, false
	}
	result := lookupUnavailable
	defer func() { s.lookups.Add(ctx, 1, result) }()
	name, life, known := s.recent.Current()
	if !known {
		return nil, false
	}
	seal := sealOf(name)
	keys := make([]string, len(refs))
	for i, ref := range refs {
		keys[i] = seal.key(ref)
	}
	values, ok := s.memory.Get(ctx, keys)
	if !ok || len(values) != len(keys) {
		return nil, false
	}
	result = lookupMiss
	events = make([]recent.Event, len(refs))
	for i, value := range values {
		if events[i], ok = seal.open(keys[i], value); !ok || clock.Since(events[i].ReceivedAt) > s.ttl {
			return nil, false
		}
	}
	for i, ref := range refs {
		s.recent.Keep(life, ref, events[i])
	}
	result = lookupHit
	return events, true
}

// keep stores an event whose COMMIT was confirmed. The caller reads the database's life (see
// recent.Life) before the transaction begins. If the life has changed since, or is not known for
// certain, the event is not stored.
func (s *sharedEvents) keep(in recent.Life, ref identity.EventRef, e recent.Event) {
	if s == nil {
		return
	}
	name, life, known := s.recent.Current()
	left := min(s.ttl-clock.Since(e.ReceivedAt), s.ttl)
	if !known || life != in || left < time.Millisecond {
		return
	}
	seal := sealOf(name)
	key := seal.key(ref)
	s.memory.Set(key, seal.close(key, e), left)
}

// seal authenticates values in one life of the database (see recent.Life). It is derived from the
// life's name, which contains a secret of the installation. Values of another life or installation
// have other keys, and a process without the secret cannot create a value.
type seal [sha256.Size]byte

func sealOf(life string) seal { return sha256.Sum256([]byte("seen cache 1\n" + life)) }

// macSize is the number of bytes that authenticate a key or a value.
const macSize = 16

func (s seal) mac(of string, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, s[:])
	mac.Write([]byte(of))
	for _, part := range parts {
		mac.Write(part)
	}
	return mac.Sum(nil)[:macSize]
}

// key returns the key of an event. It does not reveal the event's id.
func (s seal) key(ref identity.EventRef) string {
	length := binary.BigEndian.AppendUint64(nil, uint64(len(ref.Source)))
	return "hooklatch:" + base64.RawURLEncoding.EncodeToString(s.mac("key", length, []byte(ref.Source), []byte(ref.EventID)))
}

// valueSize is the size of a value: acceptance id, time of receipt, hash, guard and mac.
const valueSize = len(uuid.UUID{}) + 8 + 2*sha256.Size + macSize

// close returns the value to store for an event under key.
func (s seal) close(key string, e recent.Event) []byte {
	value := make([]byte, 0, valueSize)
	value = append(value, e.AcceptanceID[:]...)
	value = binary.BigEndian.AppendUint64(value, uint64(e.ReceivedAt.UnixMicro()))
	value = append(value, e.Hash[:]...)
	value = append(value, e.Guard[:]...)
	return append(value, s.mac("value", []byte(key), value)...)
}

// open returns the event in a value, or false if this seal did not make the value for key.
func (s seal) open(key string, value []byte) (e recent.Event, ok bool) {
	if len(value) != valueSize {
		return recent.Event{}, false
	}
	content, mac := value[:valueSize-macSize], value[valueSize-macSize:]
	if !hmac.Equal(mac, s.mac("value", []byte(key), content)) {
		return recent.Event{}, false
	}
	content = content[copy(e.AcceptanceID[:], content):]
	e.ReceivedAt = time.UnixMicro(int64(binary.BigEndian.Uint64(content))) //nolint:gosec // close wrote an int64
	content = content[8:]
	content = content[copy(e.Hash[:], content):]
	copy(e.Guard[:], content)
	return e, true
}
