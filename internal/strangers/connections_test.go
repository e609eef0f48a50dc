package strangers_test

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hooklatch/hooklatch/internal/strangers"
)

// queue is a listener for connections that a test creates.
type queue chan net.Conn

func (q queue) Accept() (net.Conn, error) {
	select {
	case conn := <-q:
		return conn, nil
	default:
		return nil, net.ErrClosed
	}
}
func (q queue) Close() error   { return nil }
func (q queue) Addr() net.Addr { return nil }

// peer is a connection from an address.
type peer struct {
	net.Conn

	from   string
	closed bool
	read   time.Time
}

func (p *peer) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(p.from), 1000))
}

func (p *peer) Close() error {
	p.closed = true
	return nil
}

func (p *peer) SetReadDeadline(t time.Time) error {
	p.read = t
	return nil
}

// door is a limited listener to which a test connects one peer at a time.
type door struct {
	*strangers.Connections

	queue    queue
	listener net.Listener
}

func newDoor(opts strangers.ConnectionOptions) *door {
	d := &door{Connections: strangers.NewConnections(opts), queue: make(queue, 1)}
	d.listener = d.Listener(d.queue)
	return d
}

// open opens a connection. The net.Conn is nil if the connection is not admitted.
func (d *door) open(from string) (*peer, net.Conn) {
	p := &peer{from: from}
	d.queue <- p
	conn, err := d.listener.Accept()
	if err != nil {
		return p, nil
	}
	return p, conn
}

func isKnown(address netip.Prefix) bool { return address.Addr().String()[:4] == "203." }

func TestConnectionsAreShared(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		from []string // addresses that connect in turn
		open int64    // expected number of open connections, of 64
	}{
		{"a stranger has an eighth", []string{"198.51.100.1"}, 8},
		{"a network of strangers has a quarter", []string{"198.51.100.1", "198.51.100.2", "198.51.100.3"}, 16},
		{"an IPv6 site of strangers has a quarter", []string{"2001:db8:1:1::1", "2001:db8:1:2::1", "2001:db8:1:3::1"}, 16},
		{"strangers have three quarters", []string{"198.51.100.1", "198.51.101.1", "198.51.102.1", "198.51.103.1", "198.51.104.1", "198.51.105.1", "198.51.106.1"}, 48},
		{"a known address has half", []string{"203.0.113.1"}, 32},
		{"known addresses have all", []string{"203.0.113.1", "203.0.113.2", "203.0.113.3"}, 64},
		{"a trusted proxy has all", []string{"10.0.0.1"}, 64},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(strangers.ConnectionOptions{Max: 64, Known: isKnown, Trusted: netip.Addr.IsPrivate})
			for n := range 200 {
				d.open(test.from[n%len(test.from)])
			}
			require.Equal(t, test.open, d.Open())
			require.Equal(t, 200-test.open, d.Refused())
		})
	}
}

// If unknown senders have used up their part, the oldest of their connections is closed for a new
// one. A known sender's connection is admitted without closing another, and a sender whose delivery
// was accepted keeps its connection.
func TestOldestStrangerGivesWay(t *testing.T) {
	t.Parallel()
	d := newDoor(strangers.ConnectionOptions{Max: 16, Known: isKnown})
	var peers []*peer
	var conns []net.Conn
	for n := range 12 {
		p, conn := d.open(netip.AddrFrom4([4]byte{198, 51, byte(n), 1}).String())
		require.NotNil(t, conn)
		peers, conns = append(peers, p), append(conns, conn)
	}
	ctx := strangers.ConnContext(t.Context(), conns[0])
	strangers.Proven(ctx)
	strangers.Proven(ctx)
	for range 3 {
		_, conn := d.open("203.0.113.1")
		require.NotNil(t, conn)
	}
	_, conn := d.open("198.51.100.1")
	require.NotNil(t, conn, "the proven connection no longer counts as a stranger's")
	require.False(t, peers[1].closed)
	_, conn = d.open("198.51.101.1")
	require.NotNil(t, conn)
	require.Equal(t, []bool{false, true, false}, []bool{peers[0].closed, peers[1].closed, peers[2].closed})
	require.EqualValues(t, 16, d.Open())

	require.NoError(t, conns[1].Close(), "the server may close a connection that was already closed")
	require.NoError(t, conns[2].Close())
	require.EqualValues(t, 15, d.Open())
}

// An unknown sender's connection stays open for less time between two requests. While the sender
// sends a request, the usual timeout applies.
func TestStrangersIdleLessLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(strangers.ConnectionOptions{Max: 64, Known: isKnown, IdleTimeout: 5 * time.Second})
		deadlineOf := func(from string, state http.ConnState, proven bool) time.Duration {
			p, conn := d.open(from)
			strangers.Track(conn, state)
			if proven {
				strangers.Proven(strangers.ConnContext(t.Context(), conn))
			}
			require.NoError(t, conn.SetReadDeadline(time.Now().Add(30*time.Second)))
			return time.Until(p.read)
		}
		require.Equal(t, 5*time.Second, deadlineOf("198.51.100.1", http.StateIdle, false))
		require.Equal(t, 30*time.Second, deadlineOf("198.51.100.1", http.StateActive, false))
		require.Equal(t, 30*time.Second, deadlineOf("198.51.100.1", http.StateIdle, true))
		require.Equal(t, 30*time.Second, deadlineOf("203.0.113.1", http.StateIdle, false))
	})
}

// failing is a listener whose first calls of Accept fail.
type failing struct {
	net.Listener

	errs chan error
}

func (f failing) Accept() (net.Conn, error) {
	select {
	case err := <-f.errs:
		return nil, err
	default:
		return f.Listener.Accept()
	}
}

// A server accepts connections again after Accept has failed, whatever the error, until its
// listener is closed.
func TestAServerOutlivesAFailedAccept(t *testing.T) {
	t.Parallel()
	errnos := []syscall.Errno{syscall.ENOMEM, syscall.ENOBUFS, syscall.EPERM, syscall.ENOSPC, syscall.EMFILE}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	from := failing{inner, make(chan error, len(errnos))}
	for _, errno := range errnos {
		from.errs <- &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", errno)}
	}
	listener := strangers.NewConnections(strangers.ConnectionOptions{Max: 64}).Listener(from)
	server := httptest.NewUnstartedServer(http.NotFoundHandler()).Config
	server.ErrorLog = log.New(io.Discard, "", 0)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	response, err := http.Get("http://" + inner.Addr().String())
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusNotFound, response.StatusCode)
	require.Empty(t, from.errs)
	require.NoError(t, listener.Close())
	require.ErrorIs(t, <-served, net.ErrClosed)
	require.NoError(t, server.Close())
}

func TestKnownForgets(t *testing.T) {
	t.Parallel()
	now := time.Now()
	k := strangers.NewKnown[string](2, time.Hour, func() time.Time { return now })
	k.Note("a")
	k.Note("b")
	k.Note("c") // a and b are now the previous period's keys
	require.True(t, k.Has("a") && k.Has("b") && k.Has("c"))
	k.Note("d")
	k.Note("e")
	require.False(t, k.Has("a"))
	require.True(t, k.Has("c") && k.Has("e"))
	now = now.Add(time.Hour)
	require.True(t, k.Has("e"))
	now = now.Add(2 * time.Hour)
	require.False(t, k.Has("e"))
}

// In any order of opening and closing, the number of open connections does not exceed the limit,
// and returns to zero.
func TestConnectionsHoldWhateverComes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 20).Draw(t, "max")
		d := newDoor(strangers.ConnectionOptions{Max: limit, Known: isKnown})
		var open []net.Conn
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0, 1:
				from := rapid.SampledFrom([]string{"198.51.100.1", "198.51.100.2", "198.51.101.1", "198.52.1.1", "203.0.113.1", "203.0.113.2"}).Draw(t, "from")
				if _, conn := d.open(from); conn != nil {
					open = append(open, conn)
				}
			case 2:
				if len(open) > 0 {
					strangers.Proven(strangers.ConnContext(t.Context(), open[0]))
				}
			case 3:
				if len(open) > 0 {
					require.NoError(t, open[0].Close())
					open = open[1:]
				}
			}
			require.LessOrEqual(t, d.Open(), int64(limit))
		}
		for _, conn := range open {
			require.NoError(t, conn.Close())
		}
		require.Zero(t, d.Open())
	})
}

// A request's context leads to its connection, on a real server with TLS.
func TestConnIsFoundByItsRequest(t *testing.T) {
	t.Parallel()
	connections := strangers.NewConnections(strangers.ConnectionOptions{Max: 8})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { strangers.Proven(r.Context()) }))
	server.Listener = connections.Listener(server.Listener)
	server.Config.ConnContext = strangers.ConnContext
	server.StartTLS()
	t.Cleanup(server.Close)
	for range 9 { // each on a separate connection, because an unknown sender may have only one at a time
		transport := server.Client().Transport.(*http.Transport).Clone()
		client := &http.Client{Transport: transport}
		response, err := client.Get(server.URL)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		transport.CloseIdleConnections()
		require.Eventually(t, func() bool { return connections.Open() == 0 }, 2*time.Minute, time.Millisecond)
	}
	require.Zero(t, connections.Refused())
}
