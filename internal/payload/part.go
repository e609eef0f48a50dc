package payload

import (
	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/internal/jsonpointer"
)

// Part returns the bytes in body to which item points, exactly as they arrived. It returns the
// complete body if item is empty or its target does not exist.
func Part(body []byte, item string) []byte {
	if item == "" {
		return body
	}
	value := jsonpointer.Lookup(gjson.ParseBytes(jsonpointer.WithoutMark(body)), item)
	if !value.Exists() {
		return body
	}
	return []byte(value.Raw)
}
