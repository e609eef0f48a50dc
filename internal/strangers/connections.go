package strangers

import (
	"container/list"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// ConnectionOptions configure Connections.
type ConnectionOptions struct {
	// Max is the maximum number of open connections. Required.
	Max int
	// Known reports whether an earlier sender at an address was verified. Nil: no address is
	// known.
	Known func(address netip.Prefix) bool
	// Trusted reports whether a peer is one of our proxies. A proxy has no per-peer limit.
	// Nil: no peer is trusted.
	Trusted func(addr netip.Addr) bool
	// IdleTimeout is the maximum time that an unknown sender's connection stays open between
	// requests. It needs Track. 0: the same as for other connections.
	IdleTimeout time.Duration
	// Refused is called for each request that net/http refuses before any handler runs, because the
	// request's header is too large or malformed. The parameter status is 0 over TLS. Refused needs
	// Track, and Handled in each handler. May be nil.
	Refused func(peer net.Addr, status int)
}

// Connections limits a listener's open connections. A known address may have half of them, an
// unknown sender's address an eighth, and an unknown sender's network a quarter. Connections beyond
// that are closed as they arrive: a sender that waits in the kernel's queue would think that this
// machine is down. If unknown senders have used up their part, or if Max connections are open, the
// oldest connection of an unknown sender is closed for the new one. If there is no such connection,
// the new one is closed. Connections are safe for concurrent use.
type Connections struct {
	opts ConnectionOptions

	mu        sync.Mutex
	count     int
	byAddress map[netip.Prefix]int
	byNetwork map[netip.Prefix]int // connections of unknown senders
	strangers *list.List           // *Conn, oldest first
	refused   int64
}

// NewConnections returns Connections with no open connection.
func NewConnections(opts ConnectionOptions) *Connections {
	return &Connections{opts: opts, byAddress: make(map[netip.Prefix]int), byNetwork: make(map[netip.Prefix]int), strangers: list.New()}
}

// Listener returns a listener that accepts another listener's connections within the limits. It
// reports every error of Accept as temporary until it is closed, so that http.Server repeats
// Accept.
func (c *Connections) Listener(from net.Listener) net.Listener {
	return &listener{Listener: from, connections: c}
}

// Open returns the number of open connections.
func (c *Connections) Open() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int64(c.count)
}

// Refused returns the number of connections closed because there were too many.
func (c *Connections) Refused() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused
}

// admit returns the connection with a slot, or nil if it is not admitted.
func (c *Connections) admit(accepted net.Conn) *Conn {
	conn := &Conn{Conn: accepted, connections: c, known: true}
	if remote, err := netip.ParseAddrPort(accepted.RemoteAddr().String()); err == nil && !c.trusts(remote.Addr()) {
		conn.address = Address(remote.Addr())
		conn.network = Network(conn.address)
		conn.known = c.opts.Known != nil && c.opts.Known(conn.address)
	}
	admitted, oldest := c.enter(conn)
	if oldest != nil {
		_ = oldest.Conn.Close() // net/http notices at the next read
	}
	if !admitted {
		return nil
	}
	return conn
}

func (c *Connections) trusts(addr netip.Addr) bool {
	return c.opts.Trusted != nil && c.opts.Trusted(addr)
}

// enter admits and counts a connection if the limits allow it. If oldest is not nil, the caller
// must close it to make room.
func (c *Connections) enter(conn *Conn) (admitted bool, oldest *Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shareTaken(conn) {
		c.refused++
		return false, nil
	}
	if c.count >= c.opts.Max || !conn.known && c.strangers.Len() >= Part(c.opts.Max) {
		c.refused++
		first := c.strangers.Front()
		if first == nil {
			return false, nil
		}
		oldest = first.Value.(*Conn)
		c.forget(oldest)
	}
	c.count++
	if conn.address.IsValid() {
		c.byAddress[conn.address]++
	}
	if !conn.known {
		c.byNetwork[conn.network]++
		conn.place = c.strangers.PushBack(conn)
	}
	return true, oldest
}

// shareTaken reports whether a connection's peer has used up its share.
func (c *Connections) shareTaken(conn *Conn) bool {
	limit := c.opts.Max
	switch {
	case !conn.address.IsValid():
		return false
	case conn.known:
		return c.byAddress[conn.address] >= (limit+1)/2
	}
	return c.byAddress[conn.address] >= (limit+7)/8 || c.byNetwork[conn.network] >= (limit+3)/4
}

// forget releases a connection's slot. It may be called repeatedly. The caller holds c.mu.
func (c *Connections) forget(conn *Conn) {
	if conn.gone {
		return
	}
	conn.gone = true
	c.count--
	if conn.address.IsValid() {
		decrement(c.byAddress, conn.address)
	}
	c.acquaint(conn)
}

// acquaint removes a connection from the strangers. The caller holds c.mu.
func (c *Connections) acquaint(conn *Conn) {
	if conn.place != nil {
		c.strangers.Remove(conn.place)
		conn.place = nil
		decrement(c.byNetwork, conn.network)
	}
}

// decrement decrements a counter and deletes it at 0. Unknown senders choose the keys, so the
// map must stay small.
func decrement[K comparable](counts map[K]int, key K) {
	if counts[key]--; counts[key] == 0 {
		delete(counts, key)
	}
}

type listener struct {
	net.Listener

	connections *Connections
	closed      atomic.Bool
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			if l.closed.Load() || errors.Is(err, net.ErrClosed) {
				return nil, err
			}
			return nil, passingError{err}
		}
		if conn := l.connections.admit(accepted); conn != nil {
			return conn, nil
		}
		_ = accepted.Close() // the peer notices even if Close fails
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.closed.Store(true)
	return l.Listener.Close()
}

// passingError marks an error of Accept as temporary. http.Server stops serving for good after an
// error that is not temporary, such as ENOMEM or ENOBUFS, while the process keeps running.
type passingError struct{ error }

func (e passingError) Unwrap() error { return e.error }

// Timeout implements net.Error.
func (e passingError) Timeout() bool { return false }

// Temporary implements net.Error.
func (e passingError) Temporary() bool { return true }
