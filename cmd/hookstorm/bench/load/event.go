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

// What a server must know to take what is sent.
const (
	// Provider is who the events seem to come from.
	Provider = "stripe"
	// Source is the name of the endpoint: POST /webhooks/{source}.
	Source = "bench"
	// EventType is that of all events.
	EventType = "invoice.paid"
)

// Secret signs the events.
func Secret() secret.Value { return secret.New("whsec_bench_0123456789abcdef0123456789abcdef") }

// DefaultSize is that of a body, in bytes.
const DefaultSize = 1000

// Order is that of the ids of events that are sent one after another.
type Order string

// The orders.
const (
	Random Order = "random" // every id falls anywhere in an index
	Timely Order = "time"   // later ids are greater, as those of many providers are
)

// maker makes signed events, for one connection.
type maker struct {
	provider   *provider.Provider
	key        secret.Value
	order      Order
	duplicates float64 // share of events that were sent before
	dice       *rand.Rand
	sent       []string // ids to send again

	request provider.Request
	rest    []byte // of a body behind its id
}

// remembered is how many ids of a connection may come again.
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

// begin is how each body begins: the id follows.
const begin = `{"id":"`

// idLength is that of all ids, in bytes.
const idLength = len("evt_") + 24

// restOf is a body behind its id, so that the whole has the size. It is of letters
// as they come, for a text that repeats itself would be stored compressed.
func restOf(dice *rand.Rand, size int) []byte {
	head := `","object":"event","api_version":"2025-09-30","created":1760000000,"type":"` + EventType + `","data":{"object":{"note":"`
	const tail = `"}}}`
	n := max(1, size-len(begin)-idLength-len(head)-len(tail))
	noise := make([]byte, n)
	for i := range noise {
		noise[i] = byte(dice.Uint32()) //nolint:gosec // its last bits will do
	}
	return []byte(head + base64.RawURLEncoding.EncodeToString(noise)[:n] + tail)
}

// Unsigned returns a function that appends the body of an event with an id, as an API
// shows it: all of them are alike behind the id.
func Unsigned() func(to []byte, id string) []byte {
	rest := restOf(newDice(), DefaultSize)
	return func(to []byte, id string) []byte { return append(append(append(to, begin...), id...), rest...) }
}

// next makes and signs an event. Header and body are valid until the next call.
func (m *maker) next(now time.Time) (id string, r *provider.Request, err error) {
	id = m.id(now)
	m.request.Body = append(append(append(m.request.Body[:0], begin...), id...), m.rest...)
	clear(m.request.Header)
	m.request.Header["Content-Type"] = []string{"application/json"}
	if err := m.provider.Sign(&m.request, m.key, now); err != nil {
		return "", nil, fmt.Errorf("sign an event: %w", err)
	}
	return id, &m.request, nil
}

// id is that of a new event, or of one that was sent before.
func (m *maker) id(now time.Time) string {
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
