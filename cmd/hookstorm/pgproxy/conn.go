package pgproxy

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hooklatch/hooklatch/internal/pgwire"
)

// startupTimeout bounds the wait for a client's startup message.
const startupTimeout = 30 * time.Second

// conn is a client's connection and the matching connection to the server.
type conn struct {
	proxy    *Proxy
	listener string
	client   net.Conn
	backend  atomic.Uint32 // id of the server's process, 0 until known

	closed chan struct{}
	once   sync.Once

	// The mutex of the proxy guards these fields.
	application string
	target      string // empty until the server is connected

	// A goroutine that holds the mutex of the proxy may lock mu. A goroutine that holds mu must not
	// lock the mutex of the proxy.
	mu      sync.Mutex
	server  net.Conn    // nil until the server is connected
	pending []*exchange // requests whose response is incomplete, in order
	partial *exchange   // the last of pending, if more of the request will arrive
	gone    bool        // the client has closed the connection, or is about to close it
	hung    bool        // a response was swallowed and no other will arrive
	silent  bool        // the server has closed the connection
}

// exchange is a request and its response.
type exchange struct {
	shot   *shot  // nil for an exchange without a fault
	answer string // tag or SQLSTATE of the response so far
	begun  bool   // part of the response has arrived
}

// serve relays the connection until one end closes it.
func (c *conn) serve() {
	defer c.close()
	startup, err := c.begin()
	if err != nil || startup == nil {
		return // the client closed the connection, or used another protocol
	}
	// A cancel request belongs to an existing connection. Postgres accepts it at any number of
	// connections, and pgx sends one for each connection that it gives up.
	if !startup.Cancels() {
		switch c.proxy.turnsAway(c) {
		case Refuse:
			c.reset()
			return
		case Cap:
			c.say("53300", "sorry, too many clients already")
			return
		}
	}
	if err := c.connect(); err != nil {
		c.reset() // as if no server were listening
		return
	}
	if err := c.send(toServer, c.server, startup); err != nil {
		return
	}
	if startup.Cancels() {
		_, _ = io.Copy(io.Discard, c.server) // wait until the server has closed the connection
		return
	}
	var answers sync.WaitGroup
	answers.Go(c.relayAnswers)
	c.relayRequests()
	answers.Wait()
}

// begin reads the client's startup message. It refuses encryption.
func (c *conn) begin() (pgwire.Startup, error) {
	if err := c.client.SetReadDeadline(time.Now().Add(startupTimeout)); err != nil {
		return nil, err
	}
	startup, err := pgwire.ReadStartup(c.client)
	for err == nil && startup.AsksForEncryption() {
		if _, err = c.client.Write([]byte{'N'}); err == nil {
			startup, err = pgwire.ReadStartup(c.client)
		}
	}
	if err != nil || startup.Cancels() {
		return startup, err
	}
	var message pgproto3.StartupMessage
	if err := message.Decode(startup.Body()); err != nil {
		return nil, fmt.Errorf("startup message: %w", err)
	}
	c.proxy.mu.Lock()
	c.application = message.Parameters["application_name"]
	c.proxy.mu.Unlock()
	return startup, c.client.SetReadDeadline(time.Time{})
}

// connect connects to the current target.
func (c *conn) connect() error {
	target := c.proxy.Target()
	dialer := net.Dialer{Timeout: dialTimeout}
	server, err := dialer.DialContext(c.proxy.ctx, "tcp", target)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.server = server
	c.mu.Unlock()
	c.proxy.mu.Lock()
	defer c.proxy.mu.Unlock()
	c.target = target
	select {
	case <-c.closed: // the method close may have run before c.server was set
		_ = server.Close() // nothing was sent to the server
		return net.ErrClosed
	default:
	}
	if c.proxy.target != target {
		return fmt.Errorf("%s is no longer the target", target)
	}
	return nil
}

// say sends the client a fatal error as the last message.
func (c *conn) say(code, message string) {
	farewell, _ := (&pgproto3.ErrorResponse{ // encoding cannot fail
		Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: code, Message: message,
	}).Encode(nil)
	_ = c.send(toClient, c.client, farewell) // the client may have closed the connection
}

// reset makes the method close reset the client's connection, as a machine without a listening
// server does.
func (c *conn) reset() {
	if tcp, ok := c.client.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // if this fails, close closes the connection gracefully
	}
}

// close closes both ends. Further calls do nothing.
func (c *conn) close() {
	c.once.Do(func() {
		close(c.closed)
		_ = c.client.Close() // either end may be closed already
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.server != nil {
			_ = c.server.Close()
		}
	})
}
