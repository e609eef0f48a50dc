package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// FuzzReceive checks that a request gets a 2xx if and only if all events in a signed delivery
// are stored as they arrived (I1, I3).
func FuzzReceive(f *testing.F) {
	f.Add(http.MethodPost, "", "", []byte(`{"id":"a","type":"x"}`), true)
	f.Add(http.MethodPost, "", "", []byte(`{"id":"a","type":"x"}`), false)
	f.Add(http.MethodPost, "Content-Encoding", "gzip", []byte(`{"id":"a"}`), true)
	f.Add(http.MethodPost, "X-Signature", "00", []byte(`{"events":[{"id":"a"},{"id":"a"}]}`), true)
	f.Add(http.MethodPost, "Traceparent", "00-x-y-z", []byte("{\"id\":\"\\u0000\xff\"}"), true)
	f.Add(http.MethodGet, "", "", []byte(nil), true)
	f.Add(http.MethodPost, "", "", []byte(`{"events":[]}`), true)
	f.Add(http.MethodPost, "Transfer-Encoding", "chunked", []byte(`null`), true)
	f.Fuzz(func(t *testing.T, method, name, value string, body []byte, signed bool) {
		accepter := &memory{first: make(map[identity.EventRef]time.Time)}
		g, err := gateway.New(gateway.Options{Accepter: accepter, Sources: []gateway.Source{source("orders", signer())}})
		require.NoError(t, err)
		r := httptest.NewRequest(http.MethodPost, "/webhooks/orders", bytes.NewReader(body))
		r.Method = method
		r.Header[name] = []string{value}
		if signed {
			r.Header.Set("X-Signature", sign(testSecret, body))
		}
		recorder := httptest.NewRecorder()
		g.Handler().ServeHTTP(recorder, r)

		require.True(t, json.Valid(recorder.Body.Bytes()), "%s", recorder.Body)
		stored := accepter.all()
		if recorder.Code != http.StatusOK {
			require.Empty(t, stored)
			require.NotEqual(t, http.StatusInternalServerError, recorder.Code)
			return
		}
		require.True(t, signed)
		var told struct {
			Status string
			Events int
		}
		require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &told))
		if told.Status == "empty" {
			require.Empty(t, stored)
			return
		}
		require.Len(t, stored, 1)
		require.Equal(t, body, stored[0].Body)
		require.Len(t, stored[0].Events, told.Events)
	})
}

// FuzzRawHTTP writes raw bytes to a socket. No unsigned request gets a 2xx or is stored, and
// the gateway continues to serve.
func FuzzRawHTTP(f *testing.F) {
	post := "POST /webhooks/orders HTTP/1.1\r\nHost: x\r\n"
	f.Add([]byte(post + "Content-Length: 2\r\n\r\n{}"))
	f.Add([]byte(post + "Content-Length: -1\r\n\r\n{}"))
	f.Add([]byte(post + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}}"))
	f.Add([]byte(post + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\nffffffffffffffff\r\n"))
	f.Add([]byte(post + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"))
	f.Add([]byte("POST /webhooks/%6frders HTTP/1.0\r\n\r\n"))
	f.Add([]byte("POST http://evil/webhooks/orders?" + strings.Repeat("a", 100) + " HTTP/1.1\r\nHost: y\r\n\r\n"))
	f.Add([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	f.Add([]byte("\x16\x03\x01\x02\x00"))
	accepter := &memory{first: make(map[identity.EventRef]time.Time)}
	g, err := gateway.New(gateway.Options{
		Accepter: accepter, Sources: []gateway.Source{source("orders", signer())}, Listen: "127.0.0.1:0",
	})
	require.NoError(f, err)
	require.NoError(f, g.Start())
	f.Cleanup(func() { require.NoError(f, g.Stop(context.Background())) })
	f.Fuzz(func(t *testing.T, raw []byte) {
		conn, err := net.Dial("tcp", g.Addr().String())
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, conn.SetDeadline(time.Now().Add(2*time.Minute)))
		_, _ = conn.Write(raw)
		require.NoError(t, conn.(*net.TCPConn).CloseWrite())
		answer, err := io.ReadAll(conn)
		requireNoTimeout(t, err)
		require.NotContains(t, string(answer), "HTTP/1.1 2")
		require.NotContains(t, string(answer), "HTTP/1.0 2")
		require.Empty(t, accepter.all())
	})
}
