package gateway

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
)

// firstRead is the most that is reserved for a body on the word of its
// Content-Length alone, in bytes. More is reserved as it arrives.
const firstRead = 64 << 10

// readBody reads the whole body and counts what it reads: Content-Length is a
// claim, and a chunked body has none.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, *refusal) {
	if r.ContentLength > limit {
		return nil, refuseTooLarge(limit)
	}
	var body bytes.Buffer
	// ReadFrom grows the buffer when less than MinRead is free.
	body.Grow(int(min(max(r.ContentLength, 0), firstRead)) + bytes.MinRead)
	if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, limit)); err != nil {
		return nil, refuseUnread(err, limit)
	}
	return body.Bytes(), nil
}

func refuseUnread(err error, limit int64) *refusal {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return refuseTooLarge(limit)
	}
	if slow, ok := errors.AsType[net.Error](err); ok && slow.Timeout() {
		return &refusal{status: http.StatusRequestTimeout, result: resultIncomplete, reason: "slow_body",
			message: "the body did not arrive in time", cause: err}
	}
	return &refusal{status: http.StatusBadRequest, result: resultIncomplete, reason: "incomplete_body",
		message: "the body could not be read to its end", cause: err}
}

// encoded tells whether the body is compressed. No known sender does that, a
// signature would not fit what we unpack, and a bomb would unpack here.
func encoded(header http.Header) bool {
	return slices.ContainsFunc(header["Content-Encoding"], func(value string) bool {
		value = strings.TrimSpace(value)
		return value != "" && !strings.EqualFold(value, "identity")
	})
}
