package pgproxy

import (
	"net"
	"time"
)

type direction int

const (
	toServer direction = iota
	toClient
)

// send writes to one end of a connection as the faults of the line allow. It returns an error
// if the connection was closed meanwhile.
func (c *conn) send(d direction, to net.Conn, b []byte) error {
	for first := true; len(b) > 0; first = false {
		if !c.hold(d) {
			return net.ErrClosed
		}
		if delay := c.proxy.latency(c); first && delay > 0 && !c.wait(delay) {
			return net.ErrClosed
		}
		size, pause := c.proxy.pace(c, len(b))
		if _, err := to.Write(b[:size]); err != nil {
			return err
		}
		b = b[size:]
		if pause > 0 && !c.wait(pause) {
			return net.ErrClosed
		}
	}
	return nil
}

// hold waits until no fault holds back the direction, and returns true. It returns false if the
// connection is closed first.
func (c *conn) hold(d direction) bool {
	for {
		armed, changed := c.proxy.partition(c, d)
		if armed == nil {
			return true
		}
		armed.feel(c)
		select {
		case <-changed:
		case <-c.closed:
			return false
		}
	}
}

// wait waits for d and returns true. It returns false if the connection is closed first.
func (c *conn) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.closed:
		return false
	}
}

// partition returns the fault that holds a direction back, or nil, and a channel that is closed
// when the armed faults change.
func (p *Proxy) partition(c *conn, d direction) (*Armed, <-chan struct{}) {
	one := PartitionRequests
	if d == toClient {
		one = PartitionAnswers
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.find(c, one, Partition), p.changed
}

// latency returns the delay of a piece of the stream.
func (p *Proxy) latency(c *conn) time.Duration {
	p.mu.Lock()
	armed := p.find(c, Latency)
	p.mu.Unlock()
	if armed == nil {
		return 0
	}
	armed.feel(c)
	return armed.fault.Delay
}

// pace returns the number of bytes that pass in one piece, and the pause after it.
func (p *Proxy) pace(c *conn, size int) (int, time.Duration) {
	p.mu.Lock()
	armed := p.find(c, SlowBytes)
	p.mu.Unlock()
	if armed == nil {
		return size, 0
	}
	armed.feel(c)
	return min(size, armed.fault.Bytes), armed.fault.Delay
}

// find returns the first fault of these kinds that affects a connection, or nil. The caller holds
// p.mu.
func (p *Proxy) find(c *conn, kinds ...Kind) *Armed {
	for _, armed := range p.armed {
		for _, kind := range kinds {
			if armed.fault.Kind == kind && armed.left != 0 && armed.fault.Who.has(c) {
				return armed
			}
		}
	}
	return nil
}
