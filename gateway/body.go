package gateway

import (
	"errors"
	"io"
	"net"
	"net/http"
)

// firstChunked is the first buffer's size for a body without Content-Length.
const firstChunked = 4 << 10

// readBody reads the complete body. It counts the bytes itself, because Content-Length is only a
// claim and a chunked body has none. It reserves memory before it allocates any buffer but the
// first.
func (rx *reception) readBody(pace *pace) ([]byte, *refusal) {
	r := rx.echo.Request()
	limit := rx.source.limit(r.Header.Get("Content-Type"))
	if r.ContentLength > limit {
		return nil, refuseTooLarge(limit)
	}
	if !rx.memory.fits(r.ContentLength) {
		return nil, refuseUnavailable(reasonMemory, nil) // refused before anything is read
	}
	// Echo wraps net/http's Writer. Only net/http's Writer lets MaxBytesReader close the
	// connection.
	from := http.MaxBytesReader(rx.echo.Response().Writer, r.Body, limit)
	room := firstRoom(r.ContentLength)
	body := make([]byte, 0, room+1) // one spare byte for the read that returns io.EOF
	for {
		if len(body) == cap(body) {
			room = nextRoom(room, r.ContentLength, limit)
			if !rx.memory.cover(room) {
				return nil, refuseUnavailable(reasonMemory, nil)
			}
			if room > large {
				rx.gateway.opts.LargeBody()
			}
			body = append(make([]byte, 0, room+1), body...)
		}
		pace.expect(len(body))
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			return body, nil
		}
		if err != nil {
			return nil, refuseUnread(err, limit, pace.scarce())
		}
	}
}

// firstRoom returns the size of a body's first buffer. The parameter length is -1 for a chunked
// body.
func firstRoom(length int64) int64 {
	if length < 0 {
		return firstChunked
	}
	return min(length, unbudgeted)
}

// nextRoom returns the size of the buffer that replaces a full buffer of the size room.
func nextRoom(room, length, limit int64) int64 {
	switch {
	case room < believed:
		room = min(2*room, believed)
	case length < 0:
		room += chunkStep
	default:
		room = length
	}
	if length >= 0 {
		room = min(room, length)
	}
	return min(room, limit)
}

func refuseUnread(err error, limit int64, scarce bool) *refusal {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return refuseTooLarge(limit)
	}
	if slow, ok := errors.AsType[net.Error](err); ok && slow.Timeout() {
		if scarce {
			return refuseUnavailable(reasonSlow, err)
		}
		// Never 408: some senders give up after a 4xx, and nothing shows whether the sender, the
		// network or this process was too slow.
		return &refusal{status: http.StatusServiceUnavailable, result: resultIncomplete, reason: "slow_body",
			message: "the body did not arrive in time", cause: err}
	}
	return &refusal{status: http.StatusBadRequest, result: resultIncomplete, reason: "incomplete_body",
		message: "the body could not be read completely", cause: err}
}
