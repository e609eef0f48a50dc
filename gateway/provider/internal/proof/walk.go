package proof

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"slices"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/jsonpointer"
	"github.com/hooklatch/hooklatch/internal/payload"
)

// Limits for a body that contains its own signature, until that signature is verified. The limits
// restrict how much an unknown sender can make us read.
const (
	maxMembers  = 1000      // in an object
	maxItems    = 10_000    // in a list
	MaxFields   = 1000      // in a form
	MaxProof    = 8 << 10   // bytes in a string that is part of a signature
	MaxFormSize = 256 << 10 // bytes in a form that is signed as a whole
)

// Walk reads unverified JSON once, from front to back and only as far as needed. It builds nothing
// from skipped values. It does not check that Text is JSON: other text either causes ErrNoJSON, or
// is refused when the verified body is parsed.
type Walk struct {
	Text []byte
	at   int
}

// ErrNoJSON means that a Walk found something unreadable or unexpected.
var ErrNoJSON = errors.New("the body is not the expected JSON")

// TooMany returns the error for a request that contains more parts than we read from an unknown
// sender. In the error, the text what names these parts, such as fields.
func TooMany(what string) error {
	return &provider.VerifyError{Reason: provider.ReasonTooManyItems, Detail: "too many to read before the request is verified: " + what}
}

// Members visits the members of the object at the current position. If a visit reads nothing,
// the value is skipped.
func (w *Walk) Members(visit func(name string) error) error {
	return w.each('{', '}', maxMembers, "members", func(int) error {
		raw, ok := w.quoted()
		if !ok || !w.Take(':') {
			return ErrNoJSON
		}
		name, _ := Plain(raw) // "" if Plain refuses the name: we look for no such name
		return w.visit(func() error { return visit(name) })
	})
}

// Items visits the items of the list at the current position.
func (w *Walk) Items(visit func(i int) error) error {
	return w.each('[', ']', maxItems, "items", func(i int) error {
		return w.visit(func() error { return visit(i) })
	})
}

func (w *Walk) each(first, last byte, limit int, what string, visit func(i int) error) error {
	if !w.Take(first) {
		return ErrNoJSON
	}
	if w.Take(last) {
		return nil
	}
	for i := 0; ; i++ {
		if i == limit {
			return TooMany(what)
		}
		if err := visit(i); err != nil {
			return err
		}
		switch {
		case w.Take(','):
		case w.Take(last):
			return nil
		default:
			return ErrNoJSON
		}
	}
}

func (w *Walk) visit(read func() error) error {
	before := w.at
	if err := read(); err != nil {
		return err
	}
	if w.at == before {
		_, err := w.Value()
		return err
	}
	return nil
}

// Value skips the value at the current position and returns its text.
func (w *Walk) Value() ([]byte, error) {
	w.space()
	start, end := w.at, w.at
	switch {
	case start == len(w.Text):
	case w.Text[start] == '"':
		end = stringEnd(w.Text, start)
	case w.Text[start] == '{', w.Text[start] == '[':
		end = containerEnd(w.Text, start)
	default:
		for end < len(w.Text) && !endsNumber(w.Text[end]) {
			end++
		}
	}
	if end <= start {
		return nil, ErrNoJSON
	}
	w.at = end
	return w.Text[start:end], nil
}

// endsNumber reports whether c cannot be part of a number, true, false or null.
func endsNumber(c byte) bool { return c <= ' ' || c == ',' || c == ']' || c == '}' }

// containerEnd returns the end of the object or list that begins at a position, or -1.
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

// stringEnd returns the position after the closing quote of the string that begins at a
// position, or -1.
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

// quoted skips a string and returns it with its quotes.
func (w *Walk) quoted() ([]byte, bool) {
	w.space()
	if w.at == len(w.Text) || w.Text[w.at] != '"' {
		return nil, false
	}
	raw, err := w.Value()
	return raw, err == nil
}

// Take skips white space, and then c if c is next. It reports whether c was next.
func (w *Walk) Take(c byte) bool {
	w.space()
	if w.at < len(w.Text) && w.Text[w.at] == c {
		w.at++
		return true
	}
	return false
}

func (w *Walk) space() {
	if w.at == 0 {
		w.at = len(w.Text) - len(jsonpointer.WithoutMark(w.Text))
	}
	for w.at < len(w.Text) && (w.Text[w.at] == ' ' || w.Text[w.at] == '\n' || w.Text[w.at] == '\r' || w.Text[w.at] == '\t') {
		w.at++
	}
}

// Plain decodes a JSON string. It returns false if raw is not a JSON string, or is too long to be
// part of a signature.
func Plain(raw []byte) (string, bool) {
	if len(raw) < 2 || len(raw) > MaxProof || raw[0] != '"' || !json.Valid(raw) {
		return "", false
	}
	return Unquote(string(raw)), true
}

// Glance returns the named string member of the body's outermost object, or "" if the object has no
// such string or the body cannot be read.
func Glance(body []byte, name string) string {
	var found string
	w := &Walk{Text: body}
	err := w.Members(func(member string) error {
		if member != name {
			return nil
		}
		raw, err := w.Value()
		found, _ = Plain(raw)
		return err
	})
	if err != nil {
		return ""
	}
	return found
}

// SomeFields reads the named fields of an unverified form and decodes no other values.
func SomeFields(body []byte, names ...string) (url.Values, error) {
	if bytes.Count(body, []byte("&")) >= MaxFields {
		return nil, TooMany("fields")
	}
	fields := url.Values{}
	for pair := range bytes.SplitSeq(jsonpointer.WithoutMark(body), []byte("&")) {
		escaped, value, _ := bytes.Cut(pair, []byte("="))
		if len(escaped) > MaxText {
			continue
		}
		if name := payload.Unescape(string(escaped)); slices.Contains(names, name) {
			fields.Add(name, payload.Unescape(string(value)))
		}
	}
	return fields, nil
}
