package destination

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func loopback() netip.Addr { return netip.MustParseAddr("127.0.0.1") }

// readRequest reads one complete request from a raw connection.
func readRequest(t *testing.T, c net.Conn) {
	t.Helper()
	_, err := nextRequest(bufio.NewReader(c))
	require.NoError(t, err)
}

func nextRequest(r *bufio.Reader) (*http.Request, error) {
	req, err := http.ReadRequest(r)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, req.Body)
	return req, err
}

// breaksKeptConnections starts a receiver that closes the first connection that is used again,
// instead of responding to the second request there. It returns the receiver's address and its
// count of requests.
func breaksKeptConnections(t *testing.T) (address string, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	var broke atomic.Bool
	return listen(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		for answered := 0; ; answered++ {
			if _, err := nextRequest(r); err != nil {
				return
			}
			requests.Add(1)
			if answered == 1 && !broke.Swap(true) {
				return
			}
			if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"); err != nil {
				return
			}
		}
	}), requests
}

func TestHTTPSendsOnceWhenAKeptConnectionBreaks(t *testing.T) {
	t.Parallel()
	const maxSends = 1000 // on a busy machine, net/http does not keep every connection
	t.Run("net/http by itself sends again", func(t *testing.T) {
		t.Parallel()
		// The additional request shows that breaksKeptConnections detects a resend.
		address, requests := breaksKeptConnections(t)
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		sent := int32(0)
		for ; requests.Load() == sent && sent < maxSends; sent++ {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address, strings.NewReader("{}"))
			require.NoError(t, err)
			req.Header.Set("Idempotency-Key", "k")
			resp, err := transport.RoundTrip(req)
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
		}
		require.Equal(t, sent+1, requests.Load())
	})
	t.Run("with a body", func(t *testing.T) {
		t.Parallel()
		address, requests := breaksKeptConnections(t)
		h := newTestHTTP(t, HTTPOptions{URL: "http://" + address})
		out, sent := Outcome{Verdict: ledger.VerdictDone}, int32(0)
		for ; out.Verdict == ledger.VerdictDone && sent < maxSends; sent++ {
			out = h.Send(t.Context(), testEffect())
		}
		require.Equal(t, ledger.VerdictMaybeApplied, out.Verdict)
		require.EqualError(t, out.Err, address+" closed the connection before its answer")
		require.Equal(t, sent, requests.Load())
	})
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		t.Run("without a body, "+method, func(t *testing.T) {
			t.Parallel()
			address, requests := breaksKeptConnections(t)
			h := newTestHTTP(t, HTTPOptions{URL: "http://" + address, Method: method})
			e := testEffect()
			e.Request.Body = nil
			for range 3 {
				require.Equal(t, ledger.VerdictDone, h.Send(t.Context(), e).Verdict, "the request uses a new connection")
			}
			require.EqualValues(t, 3, requests.Load())
		})
	}
}

func TestHTTPUsesConnectionsAgain(t *testing.T) {
	t.Parallel()
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte("x"), 10_000))
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	h := newTestHTTP(t, HTTPOptions{URL: server.URL, MaxResponse: 10_000})
	for range 5 {
		require.Equal(t, ledger.VerdictDone, h.Send(t.Context(), testEffect()).Verdict)
	}
	// On a busy machine, net/http does not keep every connection.
	require.Less(t, connections.Load(), int32(5), "the response was read to its end")
}

// An HTTP/2 receiver's frame about an unanswered request decides the outcome, and each attempt
// sends its request once.
func TestHTTP2RequestsThatAreNotAnswered(t *testing.T) {
	t.Parallel()
	certificate := httptest.NewTLSServer(nil)
	certificate.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(certificate.Certificate())
	for name, c := range map[string]struct {
		answer func(stream []byte) []byte
		want   ledger.Verdict
	}{
		"refused":              {func(stream []byte) []byte { return resetStream(stream, 7) }, ledger.VerdictNotApplied},
		"reset":                {func(stream []byte) []byte { return resetStream(stream, 8) }, ledger.VerdictMaybeApplied},
		"protocol error":       {func(stream []byte) []byte { return resetStream(stream, 1) }, ledger.VerdictMaybeApplied},
		"going away before it": {func([]byte) []byte { return goAway(0) }, ledger.VerdictNotApplied},
		"going away after it":  {func(stream []byte) []byte { return goAway(binary.BigEndian.Uint32(stream)) }, ledger.VerdictMaybeApplied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
				Certificates: certificate.TLS.Certificates, NextProtos: []string{"h2"},
			})
			require.NoError(t, err)
			var requests atomic.Int32
			address := serve(t, listener, func(conn net.Conn) { serveHTTP2(conn, &requests, c.answer) })

			h := newTestHTTP(t, HTTPOptions{URL: "https://" + address, RootCAs: trusted})
			for n := int32(1); n <= 3; n++ {
				out := h.Send(t.Context(), testEffect())
				require.Equal(t, c.want, out.Verdict, out.Err)
				require.Equal(t, n, requests.Load())
			}
		})
	}
}

const (
	frameHeaders, frameReset, frameSettings, frameGoAway byte = 1, 3, 4, 7
	flagAck                                              byte = 1
)

func resetStream(stream []byte, code byte) []byte {
	return append(append([]byte{0, 0, 4, frameReset, 0}, stream...), 0, 0, 0, code)
}

// goAway returns a frame that closes a connection gracefully, after the given last stream.
func goAway(last uint32) []byte {
	frame := binary.BigEndian.AppendUint32([]byte{0, 0, 8, frameGoAway, 0, 0, 0, 0, 0}, last)
	return append(frame, 0, 0, 0, 0)
}

// serveHTTP2 serves HTTP/2 (RFC 9113) on a connection: it responds to each request with one frame,
// and closes the connection after a GOAWAY.
func serveHTTP2(c net.Conn, requests *atomic.Int32, answerTo func(stream []byte) []byte) {
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	if _, err := io.CopyN(io.Discard, c, int64(len(preface))); err != nil {
		return
	}
	if _, err := c.Write([]byte{0, 0, 0, frameSettings, 0, 0, 0, 0, 0}); err != nil {
		return
	}
	for {
		header := make([]byte, 9)
		if _, err := io.ReadFull(c, header); err != nil {
			return
		}
		length := int64(binary.BigEndian.Uint32(append([]byte{0}, header[:3]...)))
		if _, err := io.CopyN(io.Discard, c, length); err != nil {
			return
		}
		var answer []byte
		switch {
		case header[3] == frameSettings && header[4]&flagAck == 0:
			answer = []byte{0, 0, 0, frameSettings, flagAck, 0, 0, 0, 0}
		case header[3] == frameHeaders:
			requests.Add(1)
			answer = answerTo(header[5:9])
		}
		if _, err := c.Write(answer); err != nil || len(answer) > 0 && answer[3] == frameGoAway {
			return
		}
	}
}
