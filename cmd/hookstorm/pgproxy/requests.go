package pgproxy

import (
	"time"

	"github.com/hooklatch/hooklatch/internal/pgwire"
)

// readSize is the size of one read, in bytes.
const readSize = 32 << 10

// drainTimeout bounds the wait for the rest of a response after the client closed the connection.
const drainTimeout = 30 * time.Second

// relayRequests relays the client's requests to the server one by one.
func (c *conn) relayRequests() {
	var messages pgwire.Splitter
	var requests pgwire.Requests
	buf := make([]byte, readSize)
	for {
		n, err := c.client.Read(buf)
		messages.Feed(buf[:n])
		for {
			message, err := messages.Next()
			if err != nil {
				c.close() // the client uses another protocol
				return
			}
			if message == nil {
				break
			}
			request, err := requests.Add(message)
			if err != nil {
				c.close()
				return
			}
			if request != nil && !c.forward(request) {
				return
			}
		}
		if err != nil {
			c.leave()
			return
		}
	}
}

// forward relays one request to the server. It returns false if no other request may follow.
func (c *conn) forward(request *pgwire.Request) bool {
	c.mu.Lock()
	hung := c.hung
	c.gone = c.gone || request.GoodBye
	c.mu.Unlock()
	if hung {
		if request.GoodBye {
			c.close() // the client waits for the close, pgx for 15 s
		}
		return !request.GoodBye
	}
	shot := c.proxy.aim(c, request.SQL)
	if shot != nil {
		switch shot.kind() {
		case LoseRequest:
			shot.tell(c, "")
			shot.land()
			c.close()
			return false
		case DelayRequest:
			shot.tell(c, "")
			c.delay(shot)
			shot.land()
			shot = nil
		}
	}
	if !c.expect(request, shot) {
		if shot != nil {
			shot.land()
		}
		return false
	}
	// If the server has closed its connection, relayAnswers delivers the remaining messages and
	// then closes the client's connection.
	return c.send(toServer, c.server, request.Bytes) == nil
}

// delay waits for the fault's delay, or until the fault is disarmed or the connection is closed.
func (c *conn) delay(s *shot) {
	timer := time.NewTimer(s.armed.fault.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.armed.done:
	case <-c.closed:
	}
}

// expect notes an expected response, with its fault. It returns false if no response will arrive.
func (c *conn) expect(request *pgwire.Request, shot *shot) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silent {
		return false
	}
	if !request.Answered && len(request.SQL) == 0 && c.partial == nil {
		return true
	}
	if c.partial == nil {
		c.partial = &exchange{}
		c.pending = append(c.pending, c.partial)
	}
	if shot != nil {
		c.partial.shot = shot
	}
	if request.Answered {
		c.partial = nil
	}
	return true
}

// leave closes the server's side after the client has closed its side: immediately, or after a
// response that a fault swallows.
func (c *conn) leave() {
	if !c.hold(toServer) {
		return
	}
	c.mu.Lock()
	c.gone = true
	waits := false
	for _, exchange := range c.pending {
		waits = waits || exchange.shot != nil && exchange.shot.kind().swallows()
	}
	c.mu.Unlock()
	if !waits {
		c.close()
		return
	}
	_ = c.server.SetReadDeadline(time.Now().Add(drainTimeout)) // the connection is closed already, or will be
}
