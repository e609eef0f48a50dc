package destination

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// A receiver that switches protocols and keeps the connection open causes no timeout: the status
// is its response, and the effect is tried again or parked.
func TestA101IsAnAnswer(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { closed <- struct{}{} }()
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn) // until the sender closes the connection
	}))
	t.Cleanup(server.Close)
	for _, method := range []string{http.MethodPost, http.MethodGet} { //nolint:paralleltest // they share the receiver
		t.Run(method, func(t *testing.T) {
			h, err := NewHTTP(HTTPOptions{Name: "app", URL: server.URL, Method: method, Timeout: time.Hour})
			require.NoError(t, err)
			out := h.Send(t.Context(), &ledger.Effect{Attempt: 1, Policy: ledger.AtLeastOnce})
			<-closed
			require.Equal(t, ledger.VerdictMaybeApplied, out.Verdict)
			require.Equal(t, http.StatusSwitchingProtocols, out.Status)
			require.EqualError(t, out.Err, "HTTP 101 Switching Protocols: no request asks for this; the destination's url may lead to a websocket")
			require.Empty(t, out.Excerpt)
		})
	}
}
