package gateway

import (
	"net"
	"net/netip"
	"sync"
)

// connections bounds how many connections are open, and how many of them one
// address has that is no trusted proxy. Connections beyond that are closed as
// they come: to a sender that waits in the queue of the kernel we would look like
// a machine that is gone.
type connections struct {
	limit   int
	trusted proxies

	mu        sync.Mutex
	count     int
	byAddress map[netip.Prefix]int
	refused   int64
}

func newConnections(limit int, trusted proxies) *connections {
	return &connections{limit: limit, trusted: trusted, byAddress: make(map[netip.Prefix]int)}
}

// peer is what a connection counts by, not valid for one without a limit of its
// own.
func (c *connections) peer(conn net.Conn) netip.Prefix {
	remote, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil || c.trusted.contain(remote.Addr()) {
		return netip.Prefix{}
	}
	return subscriber(remote.Addr())
}

func (c *connections) enter(peer netip.Prefix) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count >= c.limit || c.byAddress[peer] >= half(c.limit) {
		c.refused++
		return false
	}
	c.count++
	if peer.IsValid() {
		c.byAddress[peer]++
	}
	return true
}

func (c *connections) leave(peer netip.Prefix) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count--
	if peer.IsValid() {
		decrement(c.byAddress, peer)
	}
}

func (c *connections) open() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int64(c.count)
}

func (c *connections) turnedAway() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused
}

// limitedListener accepts what its connections have a place for.
type limitedListener struct {
	net.Listener

	connections *connections
}

// Accept implements net.Listener.
func (l limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer := l.connections.peer(conn)
		if l.connections.enter(peer) {
			return &limitedConn{Conn: conn, leave: sync.OnceFunc(func() { l.connections.leave(peer) })}, nil
		}
		_ = conn.Close() // the peer learns of it either way
	}
}

// limitedConn gives its place back when it is closed.
type limitedConn struct {
	net.Conn

	leave func()
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// CloseWrite lets net/http close its half first, so that the answer to a
// request whose body was left unread is not lost in a reset.
func (c *limitedConn) CloseWrite() error {
	if side, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return side.CloseWrite()
	}
	return nil
}
