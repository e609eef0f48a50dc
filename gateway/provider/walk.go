package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
)

// What a stranger can make us read: bounds for bodies that carry their proof
// inside, until it is found to be good.
const (
	maxMembers  = 1000      // of an object
	maxItems    = 10_000    // of a list
	maxFields   = 1000      // of a form
	maxProof    = 8 << 10   // bytes of a text that is part of a proof
	maxFormSize = 256 << 10 // bytes of a form that is signed as a whole
)

// walk reads JSON that nobody has proven, once from front to back and no
// further than it must: it makes nothing of what it passes over. It takes its
// text for JSON without checking that; what is none ends in errNoJSON, or is
// refused when the proven body is parsed.
type walk struct {
	text []byte
	at   int
}

var errNoJSON = errors.New("the body is not the JSON it should be")

func tooMany(what string) error {
	return &VerifyError{Reason: ReasonTooManyItems, Detail: "more than can be read before the proof: " + what}
}

// members visits those of the object the walk is at. A visit that reads nothing
// passes over the value.
func (w *walk) members(visit func(name string) error) error {
	return w.each('{', '}', maxMembers, "members", func(int) error {
		raw, ok := w.quoted()
		if !ok || !w.take(':') {
			return errNoJSON
		}
		name, _ := plain(raw) // one that is too long is none of ours
		return w.visit(func() error { return visit(name) })
	})
}

// items visits those of the list the walk is at.
func (w *walk) items(visit func(i int) error) error {
	return w.each('[', ']', maxItems, "items", func(i int) error {
		return w.visit(func() error { return visit(i) })
	})
}

func (w *walk) each(first, last byte, limit int, what string, visit func(i int) error) error {
	if !w.take(first) {
		return errNoJSON
	}
	if w.take(last) {
		return nil
	}
	for i := 0; ; i++ {
		if i == limit {
			return tooMany(what)
		}
		if err := visit(i); err != nil {
			return err
		}
		switch {
		case w.take(','):
		case w.take(last):
			return nil
		default:
			return errNoJSON
		}
	}
}

func (w *walk) visit(read func() error) error {
	before := w.at
	if err := read(); err != nil {
		return err
	}
	if w.at == before {
		_, err := w.value()
		return err
	}
	return nil
}

// value passes over the value the walk is at and returns how it is written.
func (w *walk) value() ([]byte, error) {
	w.space()
	start, end := w.at, w.at
	switch {
	case start == len(w.text):
	case w.text[start] == '"':
		end = stringEnd(w.text, start)
	case w.text[start] == '{', w.text[start] == '[':
		end = containerEnd(w.text, start)
	default:
		for end < len(w.text) && !endsNumber(w.text[end]) {
			end++
		}
	}
	if end <= start {
		return nil, errNoJSON
	}
	w.at = end
	return w.text[start:end], nil
}

// endsNumber tells what cannot belong to a number, true, false or null.
func endsNumber(c byte) bool { return c <= ' ' || c == ',' || c == ']' || c == '}' }

// containerEnd is where the object or list ends that begins there, -1 when it
// does not.
func containerEnd(text []byte, at int) int {
	for depth := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			if at = stringEnd(text, at) - 1; at < 0 {
				return -1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1
			}
		}
	}
	return -1
}

// stringEnd is where the string ends that begins there, behind its last quote;
// -1 when it does not.
func stringEnd(text []byte, at int) int {
	for at++; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return -1
}

// quoted passes over a string and returns it with its quotes.
func (w *walk) quoted() ([]byte, bool) {
	w.space()
	if w.at == len(w.text) || w.text[w.at] != '"' {
		return nil, false
	}
	raw, err := w.value()
	return raw, err == nil
}

func (w *walk) take(c byte) bool {
	w.space()
	if w.at < len(w.text) && w.text[w.at] == c {
		w.at++
		return true
	}
	return false
}

func (w *walk) space() {
	for w.at < len(w.text) && (w.text[w.at] == ' ' || w.text[w.at] == '\n' || w.text[w.at] == '\r' || w.text[w.at] == '\t') {
		w.at++
	}
}

// plain returns the text of a string as it is written; false for what is none,
// or too long to be part of a proof.
func plain(raw []byte) (string, bool) {
	if len(raw) < 2 || len(raw) > maxProof || raw[0] != '"' || !json.Valid(raw) {
		return "", false
	}
	return unquote(string(raw)), true
}

// glance returns a text of the body's outermost object, or nothing.
func glance(body []byte, name string) string {
	var found string
	w := &walk{text: body}
	err := w.members(func(member string) error {
		if member != name {
			return nil
		}
		raw, err := w.value()
		found, _ = plain(raw)
		return err
	})
	if err != nil {
		return ""
	}
	return found
}

// someFields reads the named fields of a form that nobody has proven, and
// decodes no others.
func someFields(body []byte, names ...string) (url.Values, error) {
	if bytes.Count(body, []byte("&")) >= maxFields {
		return nil, tooMany("fields")
	}
	fields := url.Values{}
	for pair := range bytes.SplitSeq(body, []byte("&")) {
		escaped, value, _ := bytes.Cut(pair, []byte("="))
		if len(escaped) > maxText {
			continue
		}
		name, err := url.QueryUnescape(string(escaped))
		if err != nil || !slices.Contains(names, name) {
			continue
		}
		text, err := url.QueryUnescape(string(value))
		if err != nil || bytes.IndexByte(pair, ';') >= 0 { // as url.ParseQuery has it
			return nil, errNoForm
		}
		fields.Add(name, text)
	}
	return fields, nil
}

var errNoForm = errors.New("the body is not a form that can be read")
