package load

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// The configuration that a server needs to accept the events.
const (
	// Provider is the events' apparent provider.
	Provider = "stripe"
	// Source is the name of the endpoint: POST /webhooks/{source}.
	Source = "bench"
	// EventType is the type of all events.
	EventType = "invoice.paid"
)

// Secret returns the secret that signs the events.
func Secret() secret.Value { return secret.New("whsec_bench_0123456789abcdef0123456789abcdef") }

// DefaultSize is the default size of a body, in bytes.
const DefaultSize = 1000

// Order is the order of the ids of consecutive events.
type Order string

// Values of Order.
const (
	Random Order = "random" // every id is at a random position in an index
	Timely Order = "time"   // later ids are greater, as with many providers
)

// maker creates signed events for one connection.
type maker struct {
	provider   *provider.Provider
	key        secret.Value
	order      Order
	duplicates float64 // share of events that repeat an earlier one
	dice       *rand.Rand
	sent       []string      // ids to repeat
	given      func() string // makes all ids; may be nil

	request provider.Request
	rest    []byte // rest of a body after its id
}

// remembered is the maximum number of ids that a connection stores in order to repeat them.
const remembered = 4096

func newMaker(o Options) (*maker, error) {
	made, err := catalog.New(Provider, provider.Options{})
	if err != nil {
		return nil, fmt.Errorf("make the provider of the load: %w", err)
	}
	dice := newDice()
	return &maker{
		provider: made, key: Secret(), order: o.Order, duplicates: o.Duplicates, dice: dice,
		request: provider.Request{Method: http.MethodPost, URL: &url.URL{Scheme: "http", Host: "localhost", Path: "/webhooks/" + o.Source}, Header: http.Header{}},
		rest:    restOf(dice, o.Size),
	}, nil
}

func newDice() *rand.Rand {
	return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) //nolint:gosec // ids must differ, not be secret
}

// begin is the beginning of each body, before the id.
const begin = `{"id":"`

// idLength is the length of each id, in bytes.
const idLength = len("evt_") + 24

// restOf returns the part of a body after its id, for a total of size bytes. The part is
// random, because Postgres would compress a repetitive text.
func restOf(dice *rand.Rand, size int) []byte {
	head := `","object":"event","api_version":"2025-09-30","created":1760000000,"type":"` + EventType + `","data":{"object":{"note":"`
	const tail = `"}}}`
	n := max(1, size-len(begin)-idLength-len(head)-len(tail))
	noise := make([]byte, n)
	for i := range noise {
		noise[i] = byte(dice.Uint32()) //nolint:gosec // the last bits are random enough
	}
	return []byte(head + base64.RawURLEncoding.EncodeToString(noise)[:n] + tail)
}

// Unsigned returns a function that appends the body of an event with this id, as an API returns
// it. All bodies have the same content after the id.
func Unsigned() func(to []byte, id string) []byte {
	rest := restOf(newDice(), DefaultSize)
	return func(to []byte, id string) []byte { return append(append(append(to, begin...), id...), rest...) }
}

// next creates an event and returns its id.
func (m *maker) next(now time.Time) (id string) {
	id = m.id(now)
	m.request.Body = append(append(append(m.request.Body[:0], begin...), id...), m.rest...)
	return id
}

// sign signs the created event. Header and body are valid until the next call of a method.
func (m *maker) sign(now time.Time) (*provider.Request, error) {
	clear(m.request.Header)
	m.request.Header["Content-Type"] = []string{"application/json"}
	if err := m.provider.Sign(&m.request, m.key, now); err != nil {
		return nil, fmt.Errorf("sign an event: %w", err)
	}
	return &m.request, nil
}

// id returns the result of m.given, if that function is set. Otherwise id returns a new id or, for
// a duplicate, the id of an event that was sent before.
func (m *maker) id(now time.Time) string {
	if m.given != nil {
		return m.given()
	}
	if len(m.sent) > 0 && m.duplicates > 0 && m.dice.Float64() < m.duplicates {
		return m.sent[m.dice.IntN(len(m.sent))]
	}
	var raw [12]byte
	binary.BigEndian.PutUint64(raw[:8], m.dice.Uint64())
	binary.BigEndian.PutUint32(raw[8:], m.dice.Uint32())
	if m.order == Timely {
		binary.BigEndian.PutUint64(raw[:8], uint64(now.UnixNano()))
	}
	id := "evt_" + hex.EncodeToString(raw[:])
	if m.duplicates > 0 && len(m.sent) < remembered {
		m.sent = append(m.sent, id)
	}
	return id
}
