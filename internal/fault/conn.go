package fault

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hooklatch/hooklatch/internal/pgwire"
)

// drainTimeout limits the wait for the server's response to a COMMIT.
const drainTimeout = 30 * time.Second

// errCut is returned by writes to a cut connection.
var errCut = errors.New("connection was cut by a fault")

// conn is a client's connection that watches for COMMIT.
type conn struct {
	net.Conn
	fault *Fault

	// reading is locked during each read from the server, by the client or by Write when it
	// swallows the response. pgx may read and write at the same time.
	reading  sync.Mutex
	answer   answer // guarded by reading
	reported bool   // guarded by reading

	mu       sync.Mutex
	mode     Mode // fault that broke a COMMIT, "" until then
	cut      bool
	farewell []byte        // bytes that the client reads before the cut
	patience time.Time     // the client's read deadline, zero for none
	changed  chan struct{} // closed when patience or cut changes
	closed   chan struct{} // closed with the connection
	once     sync.Once
}

func newConn(inner net.Conn, fault *Fault) *conn {
	return &conn{Conn: inner, fault: fault, changed: make(chan struct{}), closed: make(chan struct{})}
}

func (c *conn) Write(b []byte) (int, error) {
	if c.state() != "" {
		// A client that has given up sends Terminate and waits for the server to close; pgx
		// waits 15 s.
		c.hangUp()
		return 0, errCut
	}
	if !isCommit(b) {
		return c.Conn.Write(b)
	}
	mode := c.fault.take()
	if mode == "" {
		return c.Conn.Write(b)
	}
	// The connection is marked as broken before the COMMIT is sent, so that a read under way cannot
	// deliver the response.
	if err := c.spoil(mode); err != nil {
		return 0, err
	}
	if mode == LoseRequest {
		c.fault.report(mode)
		c.hangUp()
		return len(b), nil // success, as if the kernel had accepted it
	}
	if n, err := c.Conn.Write(b); err != nil {
		return n, err
	}
	c.reading.Lock()
	defer c.reading.Unlock()
	c.drain()
	return len(b), nil
}

func (c *conn) Read(b []byte) (int, error) {
	c.reading.Lock()
	n, err := 0, error(nil)
	if c.state() == "" {
		n, err = c.Conn.Read(b)
	}
	if c.state() == "" {
		c.reading.Unlock()
		return n, err
	}
	if n > 0 {
		c.answer.feed(b[:n])
	}
	c.drain()
	c.reading.Unlock()
	return c.silence(b)
}

// drain reads the server's complete response and reports the fault before the client learns of it;
// c.reading is held. It then cuts the connection, unless the mode is Hang. If no response arrives,
// it also cuts the connection, and the test sees that nothing fired. After LoseRequest, drain does
// nothing.
func (c *conn) drain() {
	buf := make([]byte, 4096)
	for !c.answer.complete && c.state() != LoseRequest {
		n, err := c.Conn.Read(buf)
		c.answer.feed(buf[:n])
		if err != nil && !c.answer.complete {
			c.hangUp()
			return
		}
	}
	mode := c.state()
	if c.answer.complete && !c.reported {
		c.reported = true
		c.fault.report(mode)
	}
	switch mode {
	case LoseAnswer:
		c.hangUp()
	case Terminate:
		c.sayFarewell()
		c.hangUp()
	case LoseRequest, Hang:
	}
}

// sayFarewell lets the client read, once, the message that the server terminated its session.
func (c *conn) sayFarewell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return
	}
	c.farewell, _ = (&pgproto3.ErrorResponse{ // cannot fail
		Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "57P01",
		Message: "terminating connection due to administrator command",
	}).Encode(nil)
}

// silence does the work of Read after the fault. It returns the rest of the farewell, if any.
// Otherwise it waits until the connection is cut or closed, or the client's deadline passes.
func (c *conn) silence(b []byte) (int, error) {
	for {
		c.mu.Lock()
		patience, changed, cut := c.patience, c.changed, c.cut
		n := copy(b, c.farewell)
		c.farewell = c.farewell[n:]
		c.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		if cut {
			return 0, io.EOF
		}
		var over <-chan time.Time
		if !patience.IsZero() {
			timer := time.NewTimer(time.Until(patience))
			defer timer.Stop()
			over = timer.C
		}
		select {
		case <-over:
			return 0, os.ErrDeadlineExceeded
		case <-c.closed:
			return 0, net.ErrClosed
		case <-changed:
		}
	}
}

func (c *conn) state() Mode {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mode
}

// spoil marks the connection as broken by the fault, and limits the wait for the server's response.
func (c *conn) spoil(mode Mode) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mode = mode
	return c.Conn.SetDeadline(time.Now().Add(drainTimeout))
}

// hangUp closes the connection to the server.
func (c *conn) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return
	}
	c.cut = true
	_ = c.Conn.Close()
	c.wake()
}

func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	c.hangUp()
	return nil
}

// SetDeadline sets the deadline for reads and writes.
func (c *conn) SetDeadline(t time.Time) error { return c.wait(t, c.Conn.SetDeadline) }

// SetReadDeadline sets the deadline for reads.
func (c *conn) SetReadDeadline(t time.Time) error { return c.wait(t, c.Conn.SetReadDeadline) }

// wait records the client's read deadline. Before the fault, it also sets the deadline on the
// connection to the server. After the fault, the response must be read whatever the deadline.
func (c *conn) wait(t time.Time, set func(time.Time) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.patience = t
	c.wake()
	if c.mode != "" {
		return nil
	}
	return set(t)
}

// wake makes a waiting Read check the deadline and the cut again; c.mu is held.
func (c *conn) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// isCommit reports whether b is one simple Query message with COMMIT, the form in which
// pgx sends it.
func isCommit(b []byte) bool {
	if len(b) == 0 || b[0] != 'Q' {
		return false
	}
	var messages pgwire.Splitter
	messages.Feed(b)
	message, err := messages.Next()
	if err != nil || len(message) != len(b) {
		return false
	}
	var requests pgwire.Requests
	request, err := requests.Add(message)
	return err == nil && pgwire.IsCommit(request.SQL[0])
}

// answer follows the server's messages until the server is ready for a query.
type answer struct {
	messages pgwire.Splitter
	complete bool
}

func (a *answer) feed(b []byte) {
	a.messages.Feed(b)
	for {
		message, err := a.messages.Next()
		if err != nil || message == nil {
			return
		}
		if pgwire.EndsAnswer(message) {
			a.complete = true
		}
	}
}
