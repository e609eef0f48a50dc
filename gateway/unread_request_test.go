package gateway_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// net/http answers some requests before any handler runs. Each of these requests is counted, and
// logged with its status. Over TLS, the status is not visible, and is logged as 400.
func TestRequestsThatNobodyReadAreLoggedAndCounted(t *testing.T) {
	t.Parallel()
	const post = "POST /webhooks/orders HTTP/1.1\r\nHost: x\r\n"
	for name, c := range map[string]struct {
		request string
		status  int
		err     string
	}{
		"large header":      {post + "X-Large: " + strings.Repeat("x", 24<<10) + "\r\n\r\n", 431, "the header is larger than max_header"},
		"large target":      {"POST /webhooks/orders?" + strings.Repeat("x", 24<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n", 431, "the header is larger than max_header"},
		"name of a header":  {post + "Bad Name: x\r\n\r\n", 400, "the request is malformed"},
		"value of a header": {post + "X-Value: \x01\r\n\r\n", 400, "the request is malformed"},
		"no host":           {"POST /webhooks/orders HTTP/1.1\r\n\r\n", 400, "the request is malformed"},
		"escape in a path":  {"POST /webhooks/%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400, "the request is malformed"},
		"length":            {post + "Content-Length: many\r\n\r\n", 400, "the request is malformed"},
		"half a header":     {post + "X-Half", 400, "the request is malformed"},
		"no request at all": {"hello\r\n\r\n", 400, "the request is malformed"},
		"transfer encoding": {post + "Transfer-Encoding: gzip\r\n\r\n", 501, "needs a feature that this server does not support"},
		"expectation":       {post + "Content-Length: 2\r\nExpect: the-unexpected\r\n\r\n", 417, "needs a feature that this server does not support"},
		"version":           {"POST /webhooks/orders HTTP/3.0\r\nHost: x\r\n\r\n", 505, "needs a feature that this server does not support"},
	} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%t", name, secure), func(t *testing.T) {
				t.Parallel()
				b, dial := dialed(t, secure)
				want, reason := c.status, c.err
				if secure {
					want, reason = http.StatusBadRequest, "the request is malformed, or its header is larger than max_header"
				}
				for _, first := range []string{"", post + "Content-Length: 0\r\n\r\n"} { // alone, and after another request
					conn := dial(t)
					from := bufio.NewReader(conn)
					if first != "" {
						write(t, conn, first)
						require.Equal(t, http.StatusUnauthorized, statusOf(t, from).StatusCode)
					}
					write(t, conn, c.request)
					if half, ok := conn.(interface{ CloseWrite() error }); ok && !strings.HasSuffix(c.request, "\r\n\r\n") {
						require.NoError(t, half.CloseWrite())
					}
					require.Equal(t, c.status, statusOf(t, from).StatusCode)
					lines := b.logs.lines(t, "request refused before it was read")
					last := lines[len(lines)-1]
					require.Equal(t, "unread_request", last["reason"])
					require.EqualValues(t, want, last["status"])
					require.Equal(t, "127.0.0.1", last["remote"])
					require.Contains(t, last["err"], reason)
				}
				require.EqualValues(t, 2, b.counts(t, "hooklatch.rejected")["reason=unread_request,source=_unknown"])
			})
		}
	}
}

// dialed returns a gateway, and a function that connects to it.
func dialed(t *testing.T, secure bool) (*testBundle, func(*testing.T) net.Conn) {
	t.Helper()
	if !secure {
		b := setup(t, nil)
		return b, b.dial
	}
	b, client := overTLS(t)
	client.ServerName = "127.0.0.1"
	return b, func(t *testing.T) net.Conn {
		t.Helper()
		conn := tls.Client(b.dial(t), client)
		require.NoError(t, conn.HandshakeContext(t.Context()))
		return conn
	}
}

// A sender that speaks HTTP to an HTTPS port gets a response, and its request is logged.
func TestHTTPToAPortOfHTTPSIsLoggedAndCounted(t *testing.T) {
	t.Parallel()
	b, _ := overTLS(t)
	conn := b.dial(t)
	write(t, conn, "POST /webhooks/orders HTTP/1.1\r\nHost: x\r\n\r\n")
	require.Equal(t, http.StatusBadRequest, statusOf(t, bufio.NewReader(conn)).StatusCode)
	require.Len(t, b.logs.lines(t, "request refused before it was read"), 1)
	require.EqualValues(t, 1, b.counts(t, "hooklatch.rejected")["reason=unread_request,source=_unknown"])
}

// A connection that ends between requests is not counted as a refusal, and neither is a
// request that reached a handler.
func TestConnectionsThatEndAreNoRefusals(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		t.Run(strconv.FormatBool(secure), func(t *testing.T) {
			t.Parallel()
			b, dial := dialed(t, secure)
			for _, text := range []string{"", "POST /webhooks/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf"} {
				conn := dial(t)
				write(t, conn, text)
				require.NoError(t, conn.Close())
			}
			conn := dial(t)
			from := bufio.NewReader(conn)
			for range 3 {
				write(t, conn, "POST /webhooks/orders HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}")
				for status := http.StatusContinue; status == http.StatusContinue; {
					status = statusOf(t, from).StatusCode
					require.Contains(t, []int{http.StatusContinue, http.StatusUnauthorized}, status)
				}
			}
			write(t, conn, "POST /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			require.Equal(t, http.StatusNotFound, statusOf(t, from).StatusCode)
			require.NoError(t, b.gateway.Stop(t.Context()))
			require.Empty(t, b.logs.lines(t, "request refused before it was read"))
			require.Zero(t, b.counts(t, "hooklatch.rejected")["reason=unread_request,source=_unknown"])
		})
	}
}
