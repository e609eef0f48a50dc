// Package jsonpointer finds the target of a JSON pointer (RFC 6901). It never changes or reformats
// the JSON, so that gateway and outbox see the same bytes of an event.
package jsonpointer

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// Lookup follows a pointer from root; the empty pointer returns root itself. For a missing value,
// or a pointer that is not valid, it returns a Result whose Exists is false. Among equal keys the
// last one counts, as in encoding/json and in jsonb. Lookup walks members instead of using gjson's
// path language, in which a key can be an operator.
func Lookup(root gjson.Result, pointer string) gjson.Result {
	if pointer != "" && pointer[0] != '/' {
		return gjson.Result{}
	}
	for pointer != "" {
		var token string
		token, pointer = next(pointer)
		if root = member(root, token); !root.Exists() {
			return gjson.Result{}
		}
	}
	return root
}

func member(of gjson.Result, token string) gjson.Result {
	var found gjson.Result
	switch {
	case of.IsObject():
		of.ForEach(func(key, value gjson.Result) bool {
			if key.Str == token {
				found = value
			}
			return true
		})
	case of.IsArray():
		index, isIndex := indexOf(token)
		if !isIndex {
			break
		}
		i := 0
		of.ForEach(func(_, value gjson.Result) bool {
			if i == index {
				found = value
			}
			i++
			return i <= index
		})
	}
	return found
}

// indexOf returns the list index in a token, or false if the token is not an index.
func indexOf(token string) (int, bool) {
	index, err := strconv.Atoi(token)
	return index, err == nil && index >= 0 && strconv.Itoa(index) == token
}

// Tokens splits a pointer into names and indexes.
func Tokens(pointer string) []string {
	var tokens []string
	for pointer != "" {
		var token string
		token, pointer = next(pointer)
		tokens = append(tokens, token)
	}
	return tokens
}

// next removes the first name or index from a non-empty pointer.
func next(pointer string) (token, rest string) {
	token = pointer[1:]
	if end := strings.IndexByte(token, '/'); end >= 0 {
		token, rest = token[:end], token[end:]
	}
	if strings.IndexByte(token, '~') >= 0 {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
	}
	return token, rest
}
