package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// A client that does not read its answer holds a connection and no commit slot. Even if there are
// more such clients than commit slots, a new genuine sender gets a slot. The same holds for a
// source in a cell.
func TestAnAnswerThatIsNotReadHoldsNoCommitSlot(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte("x"), 16*mib) // more than the sockets' buffers
	away := &gateway.Cell{Name: "away", Accepter: &memory{first: make(map[identity.EventRef]time.Time)}}
	for name, cell := range map[string]*gateway.Cell{"one database": nil, "a cell": away} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var answered atomic.Int64
			echoing := signer()
			echoing.Handshake = func(_ context.Context, r *provider.Request, _ []secret.Value, _ time.Time) (*provider.Answer, error) {
				if r.Header.Get("X-Signature") != "" {
					return nil, nil //nolint:nilnil // a delivery
				}
				answered.Add(1)
				return &provider.Answer{Status: http.StatusOK, ContentType: "text/plain", Body: large}, nil
			}
			const slots = 16
			b := setup(t, func(o *gateway.Options) {
				o.MaxInFlight, o.MaxArriving = slots, slots
				o.Sources = []gateway.Source{source("orders", echoing)}
				o.Sources[0].Cell = cell
				behindProxy(o)
			})
			for n := range slots + 4 {
				conn := b.dial(t)
				require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4*kib))
				write(t, conn, fmt.Sprintf("POST /webhooks/orders HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: %s\r\nContent-Length: 2\r\n\r\n{}", strangerAddress(n)))
				require.Eventually(t, func() bool { return answered.Load() == int64(n+1) }, time.Minute, time.Millisecond, "no slot is free for client %d", n)
			}
			b.requireInFlight(t, slots+4)
			require.Equal(t, http.StatusOK, b.post(t, "orders", event("genuine", 100), forwardedFor(strangerAddress(500))).status)
		})
	}
}
