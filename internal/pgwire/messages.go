// Package pgwire follows the Postgres protocol between a client and its server: where a
// message ends, which SQL a request carries, and when the server has responded.
package pgwire

import (
	"encoding/binary"
	"fmt"
	"io"
)

// headerSize is the size of a message's type and length. The length counts itself but not the
// type.
const headerSize = 5

// maxSize is the maximum length of a message that a server accepts or sends, 1 GiB.
const maxSize = 1 << 30

// Message is a complete message with its header. It is valid until the next Feed.
type Message []byte

// Type returns the message's letter. Some letters mean one thing from the client and another
// from the server.
func (m Message) Type() byte { return m[0] }

// Body returns the message without its header.
func (m Message) Body() []byte { return m[headerSize:] }

// Splitter finds the messages in a byte stream. The zero value is ready for use.
type Splitter struct {
	buf  []byte
	next int // start of the next message in buf
}

// Feed appends bytes that were read.
func (s *Splitter) Feed(b []byte) {
	// Messages returned by Next stay valid until the next Feed, so they are dropped here and
	// not in Next.
	if s.next > 0 {
		s.buf = append(s.buf[:0], s.buf[s.next:]...)
		s.next = 0
	}
	s.buf = append(s.buf, b...)
}

// Next returns the next complete message, or nil if none is complete. It returns an error if the
// message's length is below the minimum or above maxSize.
func (s *Splitter) Next() (Message, error) {
	rest := s.buf[s.next:]
	if len(rest) < headerSize {
		return nil, nil
	}
	length := int(binary.BigEndian.Uint32(rest[1:headerSize]))
	if length < headerSize-1 || length > maxSize {
		return nil, fmt.Errorf("message of type %q claims a length of %d bytes", rest[0], length)
	}
	size := 1 + length
	if len(rest) < size {
		return nil, nil
	}
	s.next += size
	return rest[:size:size], nil
}

// maxStartup is the maximum size of a packet that a server accepts before it knows the client.
const maxStartup = 10_000

// Codes that replace a protocol version.
const (
	codeCancel = 80877102
	codeSSL    = 80877103
	codeGSS    = 80877104
)

// Startup is a packet sent before the server knows the client. It has no type.
type Startup []byte

// ReadStartup reads exactly one packet.
func ReadStartup(r io.Reader) (Startup, error) {
	length := make([]byte, 4)
	if _, err := io.ReadFull(r, length); err != nil {
		return nil, fmt.Errorf("read length of startup packet: %w", err)
	}
	size := int(binary.BigEndian.Uint32(length))
	if size < 8 || size > maxStartup {
		return nil, fmt.Errorf("startup packet claims a length of %d bytes", size)
	}
	packet := make([]byte, size)
	copy(packet, length)
	if _, err := io.ReadFull(r, packet[4:]); err != nil {
		return nil, fmt.Errorf("read startup packet: %w", err)
	}
	return packet, nil
}

func (s Startup) code() uint32 { return binary.BigEndian.Uint32(s[4:8]) }

// AsksForEncryption reports whether the client asks for encryption before it begins a session. The
// server responds with one letter.
func (s Startup) AsksForEncryption() bool { return s.code() == codeSSL || s.code() == codeGSS }

// Cancels reports whether the client only wants to cancel a statement on another connection.
func (s Startup) Cancels() bool { return s.code() == codeCancel }

// Body returns the packet without its length, as pgproto3.StartupMessage decodes it.
func (s Startup) Body() []byte { return s[4:] }
