package roundtrip_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/leaks"
	"github.com/hooklatch/hooklatch/internal/roundtrip"
)

func TestMain(m *testing.M) { os.Exit(leaks.Main(m)) }

// patience is longer than any step takes on a loaded machine.
const patience = time.Minute

// raw starts a server, lets f answer the request on each connection, and returns the URL.
func raw(t *testing.T, f func(conn net.Conn)) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var serving sync.WaitGroup
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		serving.Wait()
	})
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				// The client does not accept a response that arrives before its request.
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					f(conn)
				}
			})
		}
	})
	return "http://" + listener.Addr().String()
}

// untilClosed reads until the client has closed the connection.
func untilClosed(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

func exchange(ctx context.Context, t *testing.T, url string) (*http.Response, []byte, error) {
	t.Helper()
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	response, err := roundtrip.Bounded(base).RoundTrip(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response, body, err
}

// A server switches protocols and keeps the connection open. Only the status of the response is
// returned, and the connection is closed.
func TestTheBodyOfA101IsNotRead(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	url := raw(t, func(conn net.Conn) {
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello")
		untilClosed(conn)
		close(closed)
	})
	response, body, err := exchange(t.Context(), t, url)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, response.StatusCode)
	require.Empty(t, body)
	select {
	case <-closed:
	case <-time.After(patience):
		t.Fatal("the connection is still open")
	}
}

// A body that never ends is cut off by its request's context, and its connection is closed.
func TestABodyEndsWithTheContext(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	url := raw(t, func(conn net.Conn) {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegin")
		cancel()
		untilClosed(conn)
		close(closed)
	})
	base := &http.Transport{}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	response, err := roundtrip.Bounded(base).RoundTrip(request)
	if err != nil {
		require.ErrorIs(t, err, context.Canceled)
	} else {
		_, err = io.ReadAll(response.Body)
		require.Error(t, err)
		require.NoError(t, response.Body.Close())
	}
	<-closed
}

// deafBody is the body from a transport that ignores contexts.
type deafBody struct {
	closed chan struct{}
	once   sync.Once
}

func (b *deafBody) Read([]byte) (int, error) {
	<-b.closed
	return 0, io.ErrClosedPipe
}

func (b *deafBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestABodyIsClosedByTheContextItself(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://example.com", http.NoBody)
	require.NoError(t, err)
	response, err := roundtrip.Bounded(transportFunc(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: &deafBody{closed: make(chan struct{})}}, nil
	})).RoundTrip(request)
	require.NoError(t, err)
	defer response.Body.Close()
	cancel()
	_, err = io.ReadAll(response.Body)
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

// silent is a connection that delivers nothing once it is hushed, like a connection that a NAT
// has forgotten.
type silent struct {
	net.Conn

	hushed *atomic.Bool
	closed chan struct{}
	once   sync.Once
}

func (c *silent) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.hushed.Load() {
		<-c.closed
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *silent) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// An HTTP/2 connection that falls silent is closed within seconds, whatever the request's
// timeout, and the next request gets a new connection.
func TestASilentHTTP2ConnectionIsClosed(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Proto", r.Proto)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	var dials atomic.Int32
	first := &silent{hushed: new(atomic.Bool), closed: make(chan struct{})}
	base := &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if dials.Add(1) == 1 {
				first.Conn = conn
				return first, err
			}
			return conn, err
		},
	}
	bounded := roundtrip.Bounded(base)
	t.Cleanup(bounded.CloseIdleConnections)
	get := func() error {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		require.NoError(t, err)
		response, err := bounded.RoundTrip(request)
		if err != nil {
			return err
		}
		require.Equal(t, "HTTP/2.0", response.Header.Get("Proto"))
		return response.Body.Close()
	}
	require.NoError(t, get())
	first.hushed.Store(true)
	ended := make(chan error, 1)
	go func() { ended <- get() }()
	select {
	case err := <-ended:
		require.Error(t, err)
	case <-time.After(patience):
		t.Fatal("the request still waits for the silent connection")
	}
	require.NoError(t, get())
	require.EqualValues(t, 2, dials.Load())
}
