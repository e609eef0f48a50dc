package strangers

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"
)

// Conn is a connection that has a slot, and returns the slot when it is closed.
type Conn struct {
	net.Conn

	connections *Connections
	address     netip.Prefix // not valid for a peer without its own limit
	network     netip.Prefix
	known       bool // the address was known when the connection was accepted, or is not valid
	proven      atomic.Bool
	idle        atomic.Bool // true between two requests
	handled     atomic.Bool // true once the request has reached a handler or its refusal was reported

	// place and gone are guarded by Connections.mu.
	place *list.Element // element of Connections.strangers; nil for a connection that is not in it
	gone  bool
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.connections.mu.Lock()
	c.connections.forget(c)
	c.connections.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite lets net/http close its direction of the connection first. Without it, a reset could
// discard the response to a request with an unread body.
func (c *Conn) CloseWrite() error {
	if side, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return side.CloseWrite()
	}
	return nil
}

// Write implements net.Conn. It reports responses that net/http sends before a handler runs.
func (c *Conn) Write(b []byte) (int, error) {
	if !c.handled.Load() && c.connections.opts.Refused != nil {
		if status, answer := answered(b); answer {
			c.handled.Store(true)
			c.connections.opts.Refused(c.RemoteAddr(), status)
		}
	}
	return c.Conn.Write(b)
}

// tlsAlert is the size of the largest record that contains an alert: a header of 5 bytes, two
// bytes of alert, and the cipher's overhead. An HTTP response is longer.
const tlsAlert = 64

// answered reports whether bytes begin an HTTP response, and returns its status. Over TLS the
// status is hidden and returned as 0.
func answered(b []byte) (status int, answer bool) {
	if len(b) > len("HTTP/1.1 400") && string(b[:len("HTTP/1.")]) == "HTTP/1." {
		status, err := strconv.Atoi(string(b[len("HTTP/1.1 "):len("HTTP/1.1 400")]))
		return status, err == nil
	}
	const applicationData = 23 // RFC 8446, 5.1
	return 0, len(b) > tlsAlert && b[0] == applicationData
}

// SetReadDeadline implements net.Conn. It limits how long an unknown sender's connection waits for
// its next request.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if t.IsZero() {
		c.idle.Store(false) // net/http saw the first bytes of a request
	}
	if limit := c.connections.opts.IdleTimeout; limit > 0 && c.idle.Load() && !c.known && !c.proven.Load() {
		if end := time.Now().Add(limit); t.After(end) {
			t = end
		}
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *Conn) prove() {
	if c.known || c.proven.Swap(true) {
		return
	}
	c.connections.mu.Lock()
	defer c.connections.mu.Unlock()
	c.connections.acquaint(c)
}

// of returns the Conn that a connection is or wraps, or nil.
func of(conn net.Conn) *Conn {
	for {
		switch below := conn.(type) {
		case *Conn:
			return below
		case interface{ NetConn() net.Conn }: // TLS
			conn = below.NetConn()
		default:
			return nil
		}
	}
}

type connKey struct{}

// ConnContext implements http.Server.ConnContext: it lets Proven find the connection.
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	if c := of(conn); c != nil {
		return context.WithValue(ctx, connKey{}, c)
	}
	return ctx
}

// Proven records that a request on ctx's connection was verified: the connection no longer
// counts as a stranger's.
func Proven(ctx context.Context) {
	if c, ok := ctx.Value(connKey{}).(*Conn); ok {
		c.prove()
	}
}

// Handled records that ctx's request has reached a handler, for ConnectionOptions.Refused.
func Handled(ctx context.Context) {
	if c, ok := ctx.Value(connKey{}).(*Conn); ok {
		c.handled.Store(true)
	}
}

// Track implements http.Server.ConnState. It records whether a connection is waiting for
// its next request. ConnectionOptions.IdleTimeout and Refused depend on the record.
func Track(conn net.Conn, state http.ConnState) {
	c := of(conn)
	if c == nil {
		return
	}
	c.idle.Store(state == http.StateIdle)
	if state == http.StateIdle {
		c.handled.Store(false)
	}
}
