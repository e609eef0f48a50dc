// Package plainjson encodes stored values as the JSON that commands and the API show.
package plainjson

import (
	"bytes"
	"encoding/json"
	"time"
)

// Marshal is json.Marshal without the escapes that only HTML needs: a URL stays readable.
func Marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// OrNull returns a pointer to a time. For the zero time it returns nil, which JSON shows as null.
func OrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Joined is encoded as one object with all its parts' members, in order. Every part must
// encode as an object, and no two may have a member in common.
type Joined []any

// MarshalJSON implements json.Marshaler.
func (j Joined) MarshalJSON() ([]byte, error) {
	object := []byte{'{'}
	for _, part := range j {
		text, err := Marshal(part)
		if err != nil {
			return nil, err
		}
		members := text[1 : len(text)-1]
		if len(members) > 0 && len(object) > 1 {
			object = append(object, ',')
		}
		object = append(object, members...)
	}
	return append(object, '}'), nil
}
