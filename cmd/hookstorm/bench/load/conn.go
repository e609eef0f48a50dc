package load

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/retry"
)

const (
	// dialTimeout bounds the wait for a connection to a server.
	dialTimeout = 10 * time.Second
	// excerpt is the length of a response quoted in an error, in bytes.
	excerpt = 300
)

// conn is one connection. It does not use http.Client, which takes twice as much CPU time, because
// the client shares the machine with the measured processes.
type conn struct {
	address string
	maker   *maker
	net     net.Conn    // nil while disconnected
	release func() bool // keeps the end of the context from interrupting the connection
	reader  *bufio.Reader
	out     []byte
}

func (c *conn) dial(ctx context.Context) error {
	dialed, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", c.address)
	if err != nil {
		return err
	}
	c.net = dialed
	c.release = context.AfterFunc(ctx, func() { _ = dialed.SetDeadline(time.Unix(1, 0)) }) // fails on a closed connection
	if c.reader == nil {
		c.reader = bufio.NewReader(dialed)
	} else {
		c.reader.Reset(dialed)
	}
	return nil
}

func (c *conn) close() {
	if c.net != nil {
		c.release()
		_ = c.net.Close() // the connection is not used again
		c.net = nil
	}
}

// again defines the pauses before an event is repeated. They grow, because 64 connections that repeat
// large bodies at once keep a busy server from reading any body in time.
var again = retry.Pauses{First: 20 * time.Millisecond, Max: 2 * time.Second, Spread: true}

// errRefused is returned when the server requested a retry or the connection failed.
var errRefused = errors.New("not accepted")

// deliver sends the next event of the maker. As providers do, it repeats the event, with a new
// signature, while the server requests a retry or cannot be reached. It returns the event's id and
// the number of repetitions. If ctx ends first, the error also contains the last refusal.
func (c *conn) deliver(ctx context.Context) (id string, repeated int, err error) {
	id = c.maker.next(time.Now())
	for range again.Until(ctx) {
		request, signErr := c.maker.sign(time.Now())
		if signErr != nil {
			return id, repeated, signErr
		}
		refused := err
		if err = c.post(ctx, request); err == nil {
			return id, repeated, nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return id, repeated, fmt.Errorf("%w: last request: %w", cause, cmp.Or(refused, err))
		}
		if !errors.Is(err, errRefused) {
			return id, repeated, err
		}
		repeated++
	}
	return id, repeated, fmt.Errorf("%w: last request: %w", context.Cause(ctx), err)
}

// post sends a request and waits for the response.
func (c *conn) post(ctx context.Context, r *provider.Request) error {
	if c.net == nil {
		if err := c.dial(ctx); err != nil {
			return fmt.Errorf("%w: %w", errRefused, err)
		}
	}
	c.out = append(append(append(c.out[:0], "POST "...), r.URL.Path...), " HTTP/1.1\r\nHost: localhost\r\n"...)
	for name, values := range r.Header {
		c.out = append(append(append(append(c.out, name...), ": "...), values[0]...), "\r\n"...)
	}
	c.out = append(strconv.AppendInt(append(c.out, "Content-Length: "...), int64(len(r.Body)), 10), "\r\n\r\n"...)
	c.out = append(c.out, r.Body...)
	if _, err := c.net.Write(c.out); err != nil {
		c.close()
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	answer, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		c.close()
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, excerpt))
	if answer.Close || err != nil {
		c.close()
	}
	switch {
	case answer.StatusCode/100 == 2:
		return nil
	case answer.StatusCode == http.StatusServiceUnavailable || answer.StatusCode == http.StatusTooManyRequests:
		return fmt.Errorf("%w: it was answered %d: %s", errRefused, answer.StatusCode, text)
	}
	return fmt.Errorf("an event was answered %d: %s", answer.StatusCode, text)
}
