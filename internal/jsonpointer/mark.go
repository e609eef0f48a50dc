package jsonpointer

import "bytes"

// byteOrderMark is the UTF-8 byte order mark. RFC 8259, 8.1 lets a reader of
// JSON ignore it, and some senders begin their bodies with it.
var byteOrderMark = []byte("\xef\xbb\xbf")

// WithoutMark returns text without a byte order mark in front, to be read. The
// text itself stays as it came.
func WithoutMark(text []byte) []byte { return bytes.TrimPrefix(text, byteOrderMark) }
