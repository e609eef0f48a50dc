package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/internal/jsonpointer"
)

// place is header:NAME, form:NAME, query:NAME or a JSON pointer into the body.
type place string

// general returns the place with * for every list index, as testdata spells it.
func (p place) general() string {
	parts := strings.Split(string(p), "/")
	for i, part := range parts {
		if _, err := strconv.Atoi(part); err == nil {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, "/")
}

// placesOf lists the headers of a request except its content type, and the fields of its form or
// the members of its JSON. It reads only the first item of each JSON list.
func placesOf(r *provider.Request) []place {
	var found []place
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if name != "Content-Type" {
			found = append(found, place("header:"+name))
		}
	}
	if proof.IsForm(r) {
		fields, err := url.ParseQuery(string(r.Body))
		if err != nil {
			return found
		}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			found = append(found, place("form:"+name))
		}
		return found
	}
	if body, err := decoded(r.Body); err == nil {
		found = append(found, members(body, "")...)
	}
	return found
}

func decoded(body []byte) (any, error) {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	err := decoder.Decode(&value)
	return value, err
}

// members lists the pointers into a value, using the first item of each list.
func members(value any, at string) []place {
	var found []place
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			pointer := at + "/" + proof.EscapePointer.Replace(name)
			found = append(found, place(pointer))
			found = append(found, members(value[name], pointer)...)
		}
	case []any:
		if len(value) > 0 {
			found = append(found, members(value[0], at+"/0")...)
		}
	}
	return found
}

// of returns the value at a pointer into a decoded body.
func (p place) of(node any) any {
	for _, token := range jsonpointer.Tokens(string(p)) {
		switch in := node.(type) {
		case map[string]any:
			node = in[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i >= len(in) {
				return nil
			}
			node = in[i]
		}
	}
	return node
}

// absent is a value that makes [place.with] remove the value at the place.
type absent struct{}

// with returns a copy of a request with another value at a place.
func (p place) with(r *provider.Request, value any) (*provider.Request, error) {
	changed := *r
	changed.Header, changed.Body = r.Header.Clone(), bytes.Clone(r.Body)
	_, gone := value.(absent)
	kind, name, _ := strings.Cut(string(p), ":")
	switch kind {
	case "header":
		changed.Header.Del(name)
		if !gone {
			changed.Header.Set(name, fmt.Sprint(value))
		}
	case "query":
		u := *r.URL
		query := u.Query()
		query.Del(name)
		if !gone {
			query.Set(name, fmt.Sprint(value))
		}
		u.RawQuery = query.Encode()
		changed.URL = &u
	case "form":
		fields, err := url.ParseQuery(string(r.Body))
		if err != nil {
			return nil, err
		}
		fields.Del(name)
		if !gone {
			fields.Set(name, fmt.Sprint(value))
		}
		changed.Body = []byte(fields.Encode())
	default:
		body, err := decoded(r.Body)
		if err != nil {
			return nil, err
		}
		if changed.Body, err = json.Marshal(replaced(body, jsonpointer.Tokens(string(p)), value)); err != nil {
			return nil, err
		}
	}
	return &changed, nil
}

// replaced returns a JSON value with another value at the end of a path.
func replaced(node any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	switch node := node.(type) {
	case map[string]any:
		if _, gone := value.(absent); gone && len(path) == 1 {
			delete(node, path[0])
			return node
		}
		node[path[0]] = replaced(node[path[0]], path[1:], value)
		return node
	case []any:
		if i, err := strconv.Atoi(path[0]); err == nil && i < len(node) {
			node[i] = replaced(node[i], path[1:], value)
		}
	default:
		return replaced(map[string]any{}, path, value)
	}
	return node
}
