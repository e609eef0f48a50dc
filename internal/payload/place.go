package payload

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/hooklatch/hooklatch/internal/jsonpointer"
)

// Kind is the format in which a body is read.
type Kind string

// Values of Kind.
const (
	JSON  Kind = "json"
	Form  Kind = "form"
	Other Kind = "other"
)

// KindOf returns Form for a urlencoded form (see IsForm), JSON for any other body that is valid
// JSON, and Other for the rest, such as a multipart form.
func KindOf(contentType string, body []byte) Kind {
	if IsForm(contentType, body) {
		return Form
	}
	if _, valid := jsonpointer.Read(body); valid {
		return JSON
	}
	return Other
}

// Places returns the positions of the values in a body to which pointers lead, in order and not
// nested. Pointers start at the event's item, or at the body if item is empty. In a urlencoded
// form, a pointer is a field name after a slash, and leads to the values of all fields with that
// name. A body in another format has no such positions.
func Places(contentType string, body []byte, item string, pointers []string) []jsonpointer.Place {
	var found []jsonpointer.Place
	switch KindOf(contentType, body) {
	case JSON:
		for _, pointer := range pointers {
			found = append(found, jsonpointer.Places(body, item+pointer)...)
		}
	case Form:
		found = fields(body, pointers)
	case Other:
	}
	// Among positions with the same start, the outermost sorts first.
	slices.SortFunc(found, func(a, b jsonpointer.Place) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End))
	})
	end := -1
	return slices.DeleteFunc(found, func(p jsonpointer.Place) bool {
		within := p.Start < end
		end = max(end, p.End)
		return within
	})
}

// fields returns the positions of the named fields' values.
func fields(body []byte, pointers []string) []jsonpointer.Place {
	var named []string
	for _, pointer := range pointers {
		if tokens := jsonpointer.Tokens(pointer); len(tokens) == 1 {
			named = append(named, tokens[0])
		}
	}
	var found []jsonpointer.Place
	for start := len(body) - len(jsonpointer.WithoutMark(body)); start < len(body); {
		end := len(body)
		if i := bytes.IndexByte(body[start:], '&'); i >= 0 {
			end = start + i
		}
		raw, _, hasValue := bytes.Cut(body[start:end], []byte("="))
		if hasValue && slices.Contains(named, Unescape(string(raw))) {
			found = append(found, jsonpointer.Place{Start: start + len(raw) + 1, End: end})
		}
		start = end + 1
	}
	return found
}
