package proof

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"slices"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/jsonpointer"
)

// Limits of what a stranger can make us read, for bodies that carry their proof inside,
// until it is verified.
const (
	maxMembers  = 1000      // of an object
	maxItems    = 10_000    // of a list
	MaxFields   = 1000      // of a form
	MaxProof    = 8 << 10   // bytes of a text that is part of a proof
	MaxFormSize = 256 << 10 // bytes of a form that is signed as a whole
)

// Walk reads unproven JSON once, from front to back and no further than it must. It
// builds nothing from the values that it skips. It assumes its text is JSON without
// checking that: other text ends in ErrNoJSON, or is refused when the proven body is
// parsed.
type Walk struct {
	Text []byte
	at   int
}

// ErrNoJSON means that a Walk met something unreadable or unexpected.
var ErrNoJSON = errors.New("the body is not the expected JSON")

// TooMany refuses a request with more of something than is read from a stranger.
func TooMany(what string) error {
	return &provider.VerifyError{Reason: provider.ReasonTooManyItems, Detail: "too many to read before the request is verified: " + what}
}

// Members visits the members of the object at the walk. If a visit reads nothing, the
// value is skipped.
func (w *Walk) Members(visit func(name string) error) error {
	return w.each('{', '}', maxMembers, "members", func(int) error {
		raw, ok := w.quoted()
		if !ok || !w.Take(':') {
			return ErrNoJSON
		}
		name, _ := Plain(raw) // a name that is too long is none of ours
		return w.visit(func() error { return visit(name) })
	})
}

// Items visits the items of the list at the walk.
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

// Value skips the value at the walk and returns its text.
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

// containerEnd is where the object or list that begins at a position ends, or -1.
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

// stringEnd is the position after the closing quote of the string that begins at a
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

// Take skips white space and then c, if that comes next.
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

// Plain returns the text of a string without escapes. It returns false if raw is no
// such string, or too long to be part of a proof.
func Plain(raw []byte) (string, bool) {
	if len(raw) < 2 || len(raw) > MaxProof || raw[0] != '"' || !json.Valid(raw) {
		return "", false
	}
	return Unquote(string(raw)), true
}

// Glance returns a text of the body's outermost object, or nothing.
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

// SomeFields reads the named fields of a form that is not proven, and
// decodes no others.
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
		name, err := url.QueryUnescape(string(escaped))
		if err != nil || !slices.Contains(names, name) {
			continue
		}
		text, err := url.QueryUnescape(string(value))
		if err != nil || bytes.IndexByte(pair, ';') >= 0 { // as url.ParseQuery has it
			return nil, ErrNoForm
		}
		fields.Add(name, text)
	}
	return fields, nil
}

// ErrNoForm means that a field of a form is not escaped as a form has it.
var ErrNoForm = errors.New("the body is not a readable form")
