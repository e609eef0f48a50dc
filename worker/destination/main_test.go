package destination

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/internal/leaks"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func TestMain(m *testing.M) { os.Exit(leaks.Main(m)) }

// testEffect returns an effect as the first claim returns it.
func testEffect() *ledger.Effect {
	id := identity.EffectID{Scope: "route:stripe:everything", Key: "evt_1", Generation: 1}
	return &ledger.Effect{
		EffectID:       id,
		IdempotencyKey: id.IdempotencyKey(),
		Destination:    "app",
		Event:          identity.EventRef{Source: "stripe", EventID: "evt_1"},
		EventType:      "invoice.paid",
		Request:        ledger.Request{ContentType: "application/json", Body: []byte(`{"paid":true}`)},
		State:          ledger.EffectStarted,
		Attempt:        1,
		CreatedAt:      time.Date(2026, 9, 30, 12, 0, 0, 123456000, time.FixedZone("", 7200)),
	}
}

// newTestHTTP returns a destination that is closed at the end of the test.
func newTestHTTP(t *testing.T, o HTTPOptions) *HTTP {
	t.Helper()
	if o.Name == "" {
		o.Name = "app"
	}
	h, err := NewHTTP(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h
}

// receive starts a receiver and returns its URL.
func receive(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// listen starts a server of raw connections, which closes each connection when its handler returns.
// It returns the server's address.
func listen(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return serve(t, listener, handle)
}

func serve(t *testing.T, listener net.Listener, handle func(net.Conn)) string {
	t.Helper()
	var (
		handlers sync.WaitGroup
		mu       sync.Mutex
		open     []net.Conn
	)
	handlers.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			handlers.Go(func() {
				defer conn.Close()
				handle(conn)
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		mu.Lock()
		for _, conn := range open {
			conn.Close()
		}
		mu.Unlock()
		handlers.Wait()
	})
	return listener.Addr().String()
}

// closedAddress returns an address on which no process listens.
func closedAddress(t *testing.T) string {
	t.Helper()
	addresses, err := freeport.Addresses(1)
	require.NoError(t, err)
	return addresses[0]
}
