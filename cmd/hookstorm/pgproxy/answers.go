package pgproxy

import (
	"encoding/binary"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hooklatch/hooklatch/internal/pgwire"
)

// relayAnswers relays the server's messages to the client one by one.
func (c *conn) relayAnswers() {
	defer c.close()
	defer c.abandon()
	var messages pgwire.Splitter
	buf := make([]byte, readSize)
	for {
		n, err := c.server.Read(buf)
		messages.Feed(buf[:n])
		var out []byte
		for {
			message, err := messages.Next()
			if err != nil {
				return
			}
			if message == nil {
				break
			}
			out = c.deliver(message, out)
		}
		// relayRequests notices if the client has closed the connection.
		_ = c.send(toClient, c.client, out)
		if err != nil {
			c.mu.Lock()
			hung := c.hung
			c.mu.Unlock()
			if hung {
				<-c.closed // wait until the client gives up
			}
			c.hold(toClient) // the server's close is held back like its messages
			return
		}
	}
}

// deliver appends a server message to the client's output, unless a fault prevents that.
func (c *conn) deliver(message pgwire.Message, out []byte) []byte {
	if message.Type() == 'K' && len(message.Body()) >= 4 {
		c.backend.Store(binary.BigEndian.Uint32(message.Body()))
	}
	c.mu.Lock()
	if c.hung {
		c.mu.Unlock()
		return out
	}
	var current *exchange
	if len(c.pending) > 0 {
		current = c.pending[0]
	}
	if current == nil || current.shot == nil {
		c.settle(message)
		c.mu.Unlock()
		return append(out, message...)
	}
	shot, begun := current.shot, current.begun
	current.begun = true
	current.note(message)
	answer := current.answer
	ended := c.settle(message)
	if ended {
		current.shot = nil
	}
	c.mu.Unlock()

	switch {
	case !shot.kind().swallows():
		if !begun {
			_ = c.send(toClient, c.client, out) // earlier messages are not delayed
			out = nil
			shot.tell(c, "")
			c.delay(shot)
		}
		if ended {
			shot.land()
		}
		return append(out, message...)
	case ended:
		_ = c.send(toClient, c.client, out) // these messages belong to earlier responses
		c.breakOff(shot, answer)
		return nil
	default:
		return out
	}
}

// settle removes the first pending exchange and returns true, if the message ends a response. The
// caller holds c.mu.
func (c *conn) settle(message pgwire.Message) bool {
	if !pgwire.EndsAnswer(message) || len(c.pending) == 0 {
		return false
	}
	c.pending = c.pending[1:]
	return true
}

// note records the server's response to a statement.
func (e *exchange) note(message pgwire.Message) {
	switch message.Type() {
	case 'C':
		var complete pgproto3.CommandComplete
		if complete.Decode(message.Body()) == nil {
			e.answer = string(complete.CommandTag)
		}
	case 'E':
		var failed pgproto3.ErrorResponse
		if failed.Decode(message.Body()) == nil {
			e.answer = failed.Code
		}
	}
}

// breakOff completes a fault after it has swallowed the whole response.
func (c *conn) breakOff(s *shot, answer string) {
	if s.kind() == HangAnswer {
		c.mu.Lock()
		c.hung = true
		gone := c.gone
		c.mu.Unlock()
		s.tell(c, answer)
		s.land()
		if gone {
			c.close()
		}
		return
	}
	s.tell(c, answer)
	s.land()
	if s.kind() == Terminate {
		c.say("57P01", "terminating connection due to administrator command")
	}
	c.close()
}

// abandon ends the shots whose response never arrived, and notes that no further response will
// arrive.
func (c *conn) abandon() {
	c.mu.Lock()
	pending := c.pending
	c.pending, c.silent = nil, true
	c.mu.Unlock()
	for _, exchange := range pending {
		if exchange.shot != nil {
			exchange.shot.land()
		}
	}
}
