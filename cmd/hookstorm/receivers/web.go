package receivers

import (
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
)

const (
	// elsewhere is the target of Redirect. No caller may follow it.
	elsewhere = "elsewhere"
	// retryAfter is the delay that Busy and Unavailable request, in seconds.
	retryAfter = "1"
	// hugeHeader is the length of a header that is larger than Hooklatch accepts, in bytes.
	hugeHeader = 512 << 10
	// patience bounds the time for which a call hangs if its caller never gives up.
	patience = time.Minute
	// maxBody is larger than any body of a run, in bytes.
	maxBody = 16 << 20
)

// ServeHTTP handles the calls of all destinations.
func (r *Receivers) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxBody))
	if err != nil {
		return // The request is incomplete, so no receiver would apply it.
	}
	destination := strings.TrimPrefix(request.URL.Path, "/")
	behaviour, known := r.behaviour.next(destination)
	key := request.Header.Get("Idempotency-Key")
	c := r.desk.arrived(destination, key, behaviour, body, "attempt "+request.Header.Get("Hooklatch-Attempt"))
	switch {
	case c == nil:
		cut(w, "")
	case !known || key == "":
		c.end(history.Fail, http.StatusNotFound, "there is no such destination, or no key")
		w.WriteHeader(http.StatusNotFound)
	case !r.signed(destination, request.Header, body):
		c.end(history.Fail, http.StatusUnauthorized, "the signature is wrong")
		w.WriteHeader(http.StatusUnauthorized)
	default:
		r.behave(w, request, c, behaviour)
	}
}

// behave handles a call according to a behaviour.
func (r *Receivers) behave(w http.ResponseWriter, request *http.Request, c *call, b Behaviour) {
	does := b.act()
	if does.applies || b == Hang && r.behaviour.coin() {
		c.apply()
	}
	switch b {
	case Slow:
		if !r.wait(request, r.opts.Slow) {
			c.end(history.Unknown, 0, "the caller did not wait for the answer")
			cut(w, "")
			return
		}
	case Hang:
		r.wait(request, patience)
	}
	c.end(does.kind, does.status, does.text)
	switch b {
	case Hang, ResetBefore, ResetAfterApply:
		cut(w, "")
		return
	case HalfAnswer:
		cut(w, "HTTP/1.1 200 OK\r\nContent-Le")
		return
	case EndlessBody:
		r.writeForever(w, request)
		return
	case Switch:
		r.keepOpen(w, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		return
	case Busy, Unavailable:
		w.Header().Set("Retry-After", retryAfter)
	case Redirect:
		w.Header().Set("Location", r.URL()+"/"+elsewhere)
	case HugeHeader:
		w.Header().Set("X-Huge", strings.Repeat("x", hugeHeader))
	}
	w.WriteHeader(does.status)
}

// wait returns true after d. It returns false earlier if the caller hangs up or the receivers
// stop.
func (r *Receivers) wait(request *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-request.Context().Done():
	case <-r.stopping:
	}
	return false
}

// writeForever writes a body of at most 1000 chunks until the caller gives up or the receivers
// stop. Then it resets the connection.
func (r *Receivers) writeForever(w http.ResponseWriter, request *http.Request) {
	chunk := make([]byte, 32<<10)
	for range 1000 {
		_, err := w.Write(chunk)
		if err != nil || http.NewResponseController(w).Flush() != nil || !r.wait(request, 20*time.Millisecond) {
			break
		}
	}
	cut(w, "")
}

// keepOpen responds, and leaves the connection open until the caller closes it or the receivers
// stop.
func (r *Receivers) keepOpen(w http.ResponseWriter, answer string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // the connection is closed
	}
	ended := make(chan struct{})
	go func() {
		select {
		case <-ended:
		case <-r.stopping:
			_ = conn.Close() // this ends the copy below
		}
	}()
	_, _ = io.WriteString(conn, answer) // the caller may have hung up
	_, _ = io.Copy(io.Discard, conn)
	close(ended)
	reset(conn)
}

// cut sends a last text and resets the connection.
func cut(w http.ResponseWriter, last string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // the connection is closed
	}
	_, _ = io.WriteString(conn, last) // the caller may have hung up
	reset(conn)
}

// reset closes a connection with a TCP reset, so that the other side gets an error. Data written
// before may or may not arrive.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // fails on a closed connection
	}
	_ = conn.Close() // fails on a closed connection
}
