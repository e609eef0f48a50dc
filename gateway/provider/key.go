package provider

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxText is the length in bytes the outbox takes for ids and types.
const maxText = 255

// keyRule finds the dedup key of a document. Errors: *EventError.
type keyRule func(d *document) (string, error)

// verbatim takes the id as the sender spells it.
func verbatim(f Field) keyRule {
	return func(d *document) (string, error) {
		id, err := f.text(d)
		if err != nil {
			return "", err
		}
		if len(id) > maxText {
			return "", &EventError{Message: "the event id in " + f.place() + " is longer than 255 bytes"}
		}
		return id, nil
	}
}

// composite joins several texts, all of which must be there.
func composite(fields ...Field) keyRule {
	return func(d *document) (string, error) {
		parts := make([]string, len(fields))
		for i, f := range fields {
			var err error
			if parts[i], err = f.text(d); err != nil {
				return "", err
			}
		}
		return join(parts...), nil
	}
}

// hashed makes the key of what stands at some JSON pointers, all of which must
// be there.
func hashed(pointers ...string) keyRule {
	return func(d *document) (string, error) {
		root, err := d.json()
		if err != nil {
			return "", err
		}
		h := sha256.New()
		for _, pointer := range pointers {
			value := lookup(root, pointer)
			if !value.Exists() {
				return "", &EventError{Message: "the body has nothing at " + pointer + ", which is part of the event id"}
			}
			name, content := sha256.Sum256([]byte(pointer)), digestOf(value.Raw)
			h.Write(name[:])
			h.Write(content[:])
		}
		return hashPrefix + hex.EncodeToString(h.Sum(nil)), nil
	}
}

const hashPrefix = "sha256:"

var escapeParts = strings.NewReplacer("%", "%25", ":", "%3A")

// join makes one key of several parts, so that no two lists of parts give the
// same key: ":" stands between them and is escaped inside. What is too long
// for a key becomes a hash.
func join(parts ...string) string {
	var key strings.Builder
	for i, part := range parts {
		if i > 0 {
			key.WriteByte(':')
		}
		key.WriteString(escapeParts.Replace(part))
	}
	if key.Len() <= maxText {
		return key.String()
	}
	return hashOf(parts...)
}

// hashOf hashes parts with their lengths.
func hashOf(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return hashPrefix + hex.EncodeToString(h.Sum(nil))
}

// clean tells whether a text can be part of a key or a type: valid UTF-8
// without control characters.
func clean(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}
