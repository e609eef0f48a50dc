package provider

import (
	"cmp"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// field is where one text of a delivery stands. Exactly one of its members is
// set; none is the whole body, or the whole item of a list.
type field struct {
	Header  string // name of a request header, in canonical form
	Pointer string // JSON pointer (RFC 6901) into the body, or into the item
	Form    string // field of a form body
	Fixed   string // this text; not for ids

	levels int    // see up
	less   string // see except
}

// clock is where a time stands.
type clock struct {
	Pointer string // JSON pointer into the body, or into the item
	unit    unit   // empty: rfc3339 for a JSON string, ms for a number from 1e11 on, else s

	levels int // see field.up
}

// fieldOf is the place an option names.
func fieldOf(f Field) field {
	return field{Header: http.CanonicalHeaderKey(f.Header), Pointer: f.Pointer, Form: f.Form, Fixed: f.Fixed}
}

// clockOf is the place an option names.
func clockOf(c Clock) clock { return clock{Pointer: c.Pointer, unit: unit(c.Unit)} }

// inHeader, at, inForm and fixed are the places declarations name.
func inHeader(name string) field { return field{Header: http.CanonicalHeaderKey(name)} }
func at(pointer string) field    { return field{Pointer: pointer} }
func inForm(name string) field   { return field{Form: name} }
func fixed(text string) field    { return field{Fixed: text} }

// up makes a pointer start so many lists above the item that is described:
// of an item of /entry/0/changes, up(1) is its entry and up(2) the body.
func (f field) up(levels int) field {
	f.levels = levels
	return f
}

// except leaves out of a hashed JSON value what stands at some pointers inside
// it: what the sender changes from one attempt to the next.
func (f field) except(pointers ...string) field {
	f.less = strings.Join(pointers, "\n")
	return f
}

// up is as for field.
func (c clock) up(levels int) clock {
	c.levels = levels
	return c
}

// unknownType is the type of events whose sender does not name one.
const unknownType = "unknown"

// place names where the field stands, for messages.
func (f field) place() string {
	switch {
	case f.Header != "":
		return "header " + f.Header
	case f.Form != "":
		return "form field " + f.Form
	}
	return cmp.Or(strings.TrimSuffix(strings.Repeat("../", f.levels), "/")+f.Pointer, "the item itself")
}

// text returns what stands there: not empty, and fit to be part of a key.
// Errors: *EventError.
func (f field) text(d *document) (string, error) {
	text, err := f.find(d)
	switch {
	case err != nil:
		return "", err
	case text == "":
		return "", &EventError{Message: f.place() + " is missing or empty"}
	case !clean(text):
		return "", &EventError{Message: f.place() + " contains control characters or is not valid UTF-8"}
	}
	return text, nil
}

func (f field) find(d *document) (string, error) {
	switch {
	case f.Fixed != "":
		return f.Fixed, nil
	case f.Header != "":
		values := d.r.Header[f.Header]
		if len(values) > 1 {
			return "", &EventError{Message: f.place() + " came more than once"}
		}
		if len(values) == 0 {
			return "", nil
		}
		return values[0], nil
	case f.Form != "":
		fields, err := d.form()
		if err != nil {
			return "", err
		}
		if len(fields[f.Form]) > 1 {
			return "", &EventError{Message: f.place() + " came more than once"}
		}
		return fields.Get(f.Form), nil
	}
	value, err := d.above(f.levels).at(f.Pointer)
	if err != nil {
		return "", err
	}
	if !value.Exists() || value.Type == gjson.Null {
		return "", nil
	}
	text, ok := scalar(value)
	if !ok {
		return "", &EventError{Message: f.place() + " is neither a text nor a whole number"}
	}
	return text, nil
}

// optional returns what stands there, or nothing where it is missing or
// cannot be stored as a text.
func (f field) optional(d *document) string {
	if f == (field{}) {
		return ""
	}
	text, err := f.text(d)
	if err != nil || len(text) > maxText {
		return ""
	}
	return text
}

// holds tells whether true stands there, as a text or as JSON.
func (f field) holds(d *document) bool {
	if f.Pointer == "" {
		return f.optional(d) == "true"
	}
	value, err := d.above(f.levels).at(f.Pointer)
	if err != nil {
		return false
	}
	return value.Type == gjson.True || value.Type == gjson.String && value.Str == "true"
}

// facts declares how one event is described: that of a whole delivery, or of
// an item of a list (see each).
type facts struct {
	id       keyRule
	kind     field // the type
	fallback field // the type where kind has none; zero: the type is required
	detail   field // appended to the type after a dot, where it is there
	version  field
	occurred clock
	payload  string // form field with the JSON of a form body
	needJSON bool   // the body must be JSON whatever the rules read
}

func (f facts) events(r *Request) ([]Event, error) {
	return f.of(&document{r: r, payload: f.payload})
}

// of describes the event of a document.
func (f facts) of(d *document) ([]Event, error) {
	event, err := f.event(d)
	if err != nil {
		return nil, d.blame(err)
	}
	return []Event{event}, nil
}

func (f facts) event(d *document) (Event, error) {
	if f.needJSON {
		if _, err := d.json(); err != nil {
			return Event{}, err
		}
	}
	id, err := f.id(d)
	if err != nil {
		return Event{}, err
	}
	kind, err := f.kind.text(d)
	if err != nil && f.fallback != (field{}) {
		kind, err = f.fallback.text(d)
	}
	if err != nil {
		return Event{}, err
	}
	if detail := f.detail.optional(d); detail != "" {
		kind += "." + detail
	}
	if len(kind) > maxText {
		return Event{}, &EventError{Message: "the event type is longer than 255 bytes"}
	}
	return Event{
		ID: id, Type: kind, APIVersion: f.version.optional(d), OccurredAt: f.occurred.time(d), Item: d.item, Part: d.part(),
	}, nil
}

var errNoTime = errors.New("no time")

// millisecondsFrom is the number from which on a time without a unit is in
// milliseconds: as seconds it would be after the year 5000.
const millisecondsFrom = 1e11

// time returns the time that stands there, or zero: an event without a usable
// time is still an event.
func (c clock) time(d *document) time.Time {
	if c.Pointer == "" {
		return time.Time{}
	}
	value, err := d.above(c.levels).at(c.Pointer)
	if err != nil {
		return time.Time{}
	}
	text := value.Raw
	if value.Type == gjson.String {
		text = unquote(value.Raw)
	}
	u := c.unit
	if u == "" {
		switch {
		case value.Type == gjson.String:
			u = rfc3339
		case value.Num >= millisecondsFrom:
			u = milliseconds
		default:
			u = seconds
		}
	}
	t, err := u.lenient(text)
	if err != nil || t.Year() < 1970 || t.Year() > 9999 {
		return time.Time{}
	}
	return t.UTC()
}

// lenient reads a time of a body: decimals may have a fraction.
func (u unit) lenient(s string) (time.Time, error) {
	if u == rfc3339 {
		return time.Parse(time.RFC3339Nano, s)
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return time.Time{}, err
	}
	if u == seconds {
		n *= 1000
	}
	if math.IsNaN(n) || n < 0 || n > 1e15 {
		return time.Time{}, errNoTime
	}
	return time.UnixMilli(int64(math.Round(n))), nil
}

// escapePointer makes a name a token of a JSON pointer.
var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")
