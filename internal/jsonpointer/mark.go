package jsonpointer

import "bytes"

// byteOrderMark is the UTF-8 byte order mark. RFC 8259, 8.1 lets a JSON reader ignore it, and
// some senders begin their bodies with it.
var byteOrderMark = []byte("\xef\xbb\xbf")

// WithoutMark returns text without a leading byte order mark, for parsing. The text
// itself stays as it arrived.
func WithoutMark(text []byte) []byte { return bytes.TrimPrefix(text, byteOrderMark) }
