package gateway

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

// Gzip selects the bytes that the signature of a body with Content-Encoding: gzip covers. If
// it is empty, such a body is refused.
type Gzip string

// Values of Gzip.
const (
	// GzipUnpacked means that the signature covers the unpacked body.
	GzipUnpacked Gzip = "unpacked"
	// GzipSent means that the signature covers the bytes that were sent.
	GzipSent Gzip = "sent"
)

func (g Gzip) validate() error {
	if g != "" && g != GzipUnpacked && g != GzipSent {
		return fmt.Errorf("gzip is %q; allowed: %s, %s", string(g), GzipUnpacked, GzipSent)
	}
	return nil
}

// uncoded lists values of Content-Encoding that name no coding. Some senders put the charset there.
var uncoded = []string{"", "identity", "utf-8", "utf8", "us-ascii", "iso-8859-1"}

// encodingOf returns a request's content encoding, or "" for none. Names are case-insensitive,
// and x-gzip means gzip (RFC 9110, 8.4.1.3).
func encodingOf(header http.Header) string {
	var codings []string
	for _, line := range header["Content-Encoding"] {
		for coding := range strings.SplitSeq(line, ",") {
			if coding = strings.ToLower(strings.TrimSpace(coding)); !slices.Contains(uncoded, coding) {
				codings = append(codings, coding)
			}
		}
	}
	if slices.Equal(codings, []string{"x-gzip"}) {
		return "gzip"
	}
	return strings.Join(codings, ", ")
}

// accepts reports whether the source accepts a content encoding.
func (s *source) accepts(encoding string) bool {
	return encoding == "" || encoding == "gzip" && s.Gzip != ""
}

// largest returns the memory that the source's largest body needs. With gzip the body is held
// twice: as sent and unpacked.
func (s *source) largest() int64 {
	if s.Gzip != "" {
		return 2 * s.maxForm
	}
	return s.maxForm
}

// errContentEncoding does not quote the encoding, because a header may contain anything.
var errContentEncoding = errors.New("the body has a content encoding that this source does not accept; to accept gzip, set gzip of the source to unpacked or sent")

// refuseEncoding builds the refusal of a content encoding. The refusal names the accepted encodings
// (RFC 9110, 15.5.16).
func refuseEncoding(src *source) *refusal {
	r := &refusal{status: http.StatusUnsupportedMediaType, result: resultEncoding, reason: "content_encoding", cause: errContentEncoding,
		message: "send the body without content encoding; to accept gzip, set gzip of the source", acceptEncoding: "identity"}
	if src.Gzip != "" {
		r.message, r.acceptEncoding = "send the body without content encoding, or with gzip", "gzip, identity"
	}
	return r
}

// unpack returns the request with an unpacked body and without its Content-Encoding header, or
// r itself if the body is not encoded. It enforces the size limit while it unpacks, and
// reserves memory before it allocates a buffer.
func (rx *reception) unpack(r *provider.Request) (*provider.Request, *refusal) {
	if encodingOf(r.Header) == "" {
		return r, nil
	}
	packed, err := gzip.NewReader(bytes.NewReader(r.Body))
	if err != nil {
		return nil, refuseGzip()
	}
	limit := rx.source.limit(r.Header.Get("Content-Type"))
	room := min(limit, int64(unbudgeted))
	if !rx.memory.cover(int64(len(r.Body)) + room) {
		return nil, refuseUnavailable(reasonMemory, nil)
	}
	body := make([]byte, 0, room+1) // one spare byte for the read that returns io.EOF
	for {
		if len(body) == cap(body) {
			if room == limit {
				return nil, refuseTooLarge(limit)
			}
			room = nextRoom(room, -1, limit)
			if !rx.memory.cover(int64(len(r.Body)) + room) {
				return nil, refuseUnavailable(reasonMemory, nil)
			}
			if room > large {
				rx.gateway.opts.LargeBody()
			}
			body = append(make([]byte, 0, room+1), body...)
		}
		n, err := packed.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case errors.Is(err, io.EOF) && int64(len(body)) > limit:
			return nil, refuseTooLarge(limit)
		case errors.Is(err, io.EOF):
			inside := *r
			inside.Body, inside.Header = body, r.Header.Clone()
			inside.Header.Del("Content-Encoding")
			return &inside, nil
		case err != nil:
			return nil, refuseGzip()
		}
	}
}

func refuseGzip() *refusal {
	return refuseUnusable(&provider.EventError{Unreadable: true, Message: "the body is not gzip, or is cut short"})
}
