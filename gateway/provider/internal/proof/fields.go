package proof

import (
	"cmp"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

// Field is the location of one value in a delivery. At most one of the exported members is set. If
// none is set, the field is the complete body, or the complete list item.
type Field struct {
	Header  string // header name, in canonical form
	Pointer string // JSON pointer (RFC 6901) into the body or the item
	Form    string // form field
	Fixed   string // a fixed string, which is not read from the delivery

	levels int    // see Up
	less   string // see Except
	ifAny  bool   // see IfAny
}

// Clock is the location of a time.
type Clock struct {
	Pointer string // JSON pointer into the body or the item
	Unit    Unit   // empty: rfc3339 for a JSON string, ms for a number from 1e11 on, otherwise s

	levels int // see Field.Up
}

// fieldOf returns the Field that an option describes.
func fieldOf(f provider.Field) Field {
	return Field{Header: http.CanonicalHeaderKey(f.Header), Pointer: f.Pointer, Form: f.Form, Fixed: f.Fixed}
}

// clockOf returns the Clock that an option describes.
func clockOf(c provider.Clock) Clock { return Clock{Pointer: c.Pointer, Unit: Unit(c.Unit)} }

// InHeader selects a header's value. The name may be spelled in any case.
func InHeader(name string) Field { return Field{Header: http.CanonicalHeaderKey(name)} }

// At selects the value at a JSON pointer. The pointer starts at the list item if the rule is
// applied to one (see Each), otherwise at the body.
func At(pointer string) Field { return Field{Pointer: pointer} }

// InForm selects a form field.
func InForm(name string) Field { return Field{Form: name} }

// Fixed selects a fixed string, which does not come from the request.
func Fixed(text string) Field { return Field{Fixed: text} }

// Up makes the pointer start the given number of lists above the item. For an item in
// /entry/0/changes, Up(1) is its entry and Up(2) the body.
func (f Field) Up(levels int) Field {
	f.levels = levels
	return f
}

// IfAny marks a key part that may be missing. A missing part is empty in the key, so that the other
// parts keep their positions.
func (f Field) IfAny() Field {
	f.ifAny = true
	return f
}

// Except leaves members out of a hashed JSON value, because the sender changes these members from
// one attempt to the next. The pointers are relative to the value.
func (f Field) Except(pointers ...string) Field {
	f.less = strings.Join(pointers, "\n")
	return f
}

// Up does for a Clock what Field.Up does for a Field.
func (c Clock) Up(levels int) Clock {
	c.levels = levels
	return c
}

// UnknownType is provider.UnknownType, the type of an event without a readable type.
const UnknownType = provider.UnknownType

// place describes the field's location, for error messages.
func (f Field) place() string {
	switch {
	case f.Header != "":
		return "header " + f.Header
	case f.Form != "":
		return "form field " + f.Form
	}
	return cmp.Or(strings.TrimSuffix(strings.Repeat("../", f.levels), "/")+f.Pointer, "the item itself")
}

// Text returns the field's text. It returns an error if the text is empty or cannot be part of a
// key. It does not check the length. Errors: *EventError.
func (f Field) Text(d *Document) (string, error) {
	text, err := f.Find(d)
	switch {
	case err != nil:
		return "", err
	case text == "":
		return "", &provider.EventError{Message: f.place() + " is missing or empty"}
	case !Clean(text):
		return "", &provider.EventError{Message: f.place() + " contains control characters or is not valid UTF-8"}
	}
	return text, nil
}

// Find returns the field's text unchanged, or "" if it is missing or null. A repeated value, or a
// JSON value that is neither a string nor an integer, is an error. Errors: *EventError.
func (f Field) Find(d *Document) (string, error) {
	switch {
	case f.Fixed != "":
		return f.Fixed, nil
	case f.Header != "":
		values := d.R.Header[f.Header]
		if len(values) > 1 {
			return "", &provider.EventError{Message: f.place() + " was sent more than once"}
		}
		if len(values) == 0 {
			return "", nil
		}
		return values[0], nil
	case f.Form != "":
		fields, err := d.Form()
		if err != nil {
			return "", err
		}
		if len(fields[f.Form]) > 1 {
			return "", &provider.EventError{Message: f.place() + " was sent more than once"}
		}
		return fields.Get(f.Form), nil
	}
	value, err := d.above(f.levels).At(f.Pointer)
	if err != nil {
		return "", err
	}
	if !value.Exists() || value.Type == gjson.Null {
		return "", nil
	}
	text, ok := Scalar(value)
	if !ok {
		return "", &provider.EventError{Message: f.place() + " is neither a string nor an integer"}
	}
	return text, nil
}

// Optional returns the field's text, or "" if the text is missing or cannot be stored. For the zero
// Field, Optional returns "".
func (f Field) Optional(d *Document) string {
	if f == (Field{}) {
		return ""
	}
	text, err := f.Text(d)
	if err != nil || len(text) > MaxText {
		return ""
	}
	return text
}

// Holds reports whether the field is the string "true" or the JSON value true.
func (f Field) Holds(d *Document) bool {
	if f.Pointer == "" {
		return f.Optional(d) == "true"
	}
	value, err := d.above(f.levels).At(f.Pointer)
	if err != nil {
		return false
	}
	return value.Type == gjson.True || value.Type == gjson.String && value.Str == "true"
}

// Facts declares where one event's id, type and other properties are found. The event is a complete
// delivery or a list item (see Each).
type Facts struct {
	ID       KeyRule
	Kind     Field // the type
	Fallback Field // the type if Kind yields none; zero: UnknownType
	Detail   Field // appended to the type after a dot, if present
	Version  Field
	Occurred Clock
	Payload  string // form field that contains the JSON if the body is a form
	NeedJSON bool   // true if the body must be JSON, even if no rule reads it
}

// Events describes a complete delivery as one event.
func (f Facts) Events(r *provider.Request) ([]provider.Event, error) {
	return f.Of(&Document{R: r, Payload: f.Payload})
}

// Of describes a document's event.
func (f Facts) Of(d *Document) ([]provider.Event, error) {
	event, err := f.event(d)
	if err != nil {
		return nil, d.Blame(err)
	}
	return []provider.Event{event}, nil
}

func (f Facts) event(d *Document) (provider.Event, error) {
	if f.NeedJSON {
		if err := d.readJSON(); err != nil {
			return provider.Event{}, err
		}
	}
	id, err := f.ID(d)
	if err != nil {
		return provider.Event{}, err
	}
	kind, inHeader, err := f.kind(d)
	if err != nil {
		return provider.Event{}, err
	}
	return provider.Event{
		ID: id, Type: kind, TypeInHeader: inHeader, APIVersion: f.Version.Optional(d), OccurredAt: f.Occurred.Time(d), Item: d.item, Part: d.part(),
	}, nil
}

// kind returns an event's type, and whether a header names the type. Senders must send an id, but
// no type. A type that is missing, or that Text refuses, becomes the fallback, or UnknownType if
// there is no usable fallback. A type that is too long becomes UnknownType. An error means that the
// body in which the type would be is not in the declared format, and that no fallback applies.
func (f Facts) kind(d *Document) (kind string, inHeader bool, err error) {
	from := f.Kind
	kind, err = from.Text(d)
	if err != nil && f.Fallback != (Field{}) {
		from = f.Fallback
		kind, err = from.Text(d)
	}
	if isUnreadable(err) {
		return "", false, err
	}
	return f.detailed(d, kind), err == nil && from.Header != "", nil
}

// detailed appends the detail to a type, unless the result would be too long. It returns
// UnknownType if the type is not usable.
func (f Facts) detailed(d *Document, kind string) string {
	if kind == "" || len(kind) > MaxText {
		return UnknownType
	}
	if detail := f.Detail.Optional(d); detail != "" && len(kind)+1+len(detail) <= MaxText {
		kind += "." + detail
	}
	return kind
}

var errNoTime = errors.New("no time")

// millisecondsFrom is the smallest number that counts as milliseconds in a time without a unit. If
// it counted seconds, the time would be after the year 5000.
const millisecondsFrom = 1e11

// Time returns the time at c. It returns the zero time if d has no usable time there, because
// events are accepted without one.
func (c Clock) Time(d *Document) time.Time {
	if c.Pointer == "" {
		return time.Time{}
	}
	value, err := d.above(c.levels).At(c.Pointer)
	if err != nil {
		return time.Time{}
	}
	u := c.Unit
	if u == "" {
		switch {
		case value.Type == gjson.String:
			u = RFC3339
		case value.Num >= millisecondsFrom:
			u = Milliseconds
		default:
			u = Seconds
		}
	}
	t, err := u.lenient(value)
	if err != nil || t.Year() < 1970 || t.Year() > 9999 {
		return time.Time{}
	}
	return t.UTC()
}

// lenient reads a time in a body. Unlike Parse, it accepts a number with a fraction.
func (u Unit) lenient(value gjson.Result) (time.Time, error) {
	text, n := value.Raw, value.Num
	if value.Type == gjson.String {
		text = Unquote(value.Raw)
	}
	if u == RFC3339 {
		return time.Parse(time.RFC3339Nano, text)
	}
	if value.Type != gjson.Number {
		var err error
		if n, err = strconv.ParseFloat(text, 64); err != nil {
			return time.Time{}, err
		}
	}
	if u == Seconds {
		n *= 1000
	}
	if math.IsNaN(n) || n < 0 || n > 1e15 {
		return time.Time{}, errNoTime
	}
	return time.UnixMilli(int64(math.Round(n))), nil
}

// EscapePointer turns a name into a JSON pointer token.
var EscapePointer = strings.NewReplacer("~", "~0", "/", "~1")
