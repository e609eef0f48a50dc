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

// Field is the place of one text in a delivery. Exactly one of its members is set; none
// is the whole body, or the whole item of a list.
type Field struct {
	Header  string // name of a request header, in canonical form
	Pointer string // JSON pointer (RFC 6901) into the body, or into the item
	Form    string // field of a form body
	Fixed   string // this text; not for ids

	levels int    // see Up
	less   string // see Except
	ifAny  bool   // see IfAny
}

// Clock is the place of a time.
type Clock struct {
	Pointer string // JSON pointer into the body, or into the item
	Unit    Unit   // empty: rfc3339 for a JSON string, ms for a number from 1e11 on, else s

	levels int // see Field.Up
}

// fieldOf is the place an option names.
func fieldOf(f provider.Field) Field {
	return Field{Header: http.CanonicalHeaderKey(f.Header), Pointer: f.Pointer, Form: f.Form, Fixed: f.Fixed}
}

// clockOf is the place an option names.
func clockOf(c provider.Clock) Clock { return Clock{Pointer: c.Pointer, Unit: Unit(c.Unit)} }

// InHeader is the value of a header, however its name is spelled.
func InHeader(name string) Field { return Field{Header: http.CanonicalHeaderKey(name)} }

// At is the value at a JSON pointer, from the item that is described.
func At(pointer string) Field { return Field{Pointer: pointer} }

// InForm is a field of a form body.
func InForm(name string) Field { return Field{Form: name} }

// Fixed is a text that does not come from the request.
func Fixed(text string) Field { return Field{Fixed: text} }

// Up makes a pointer start that many lists above the item: for an item of
// /entry/0/changes, Up(1) is its entry and Up(2) the body.
func (f Field) Up(levels int) Field {
	f.levels = levels
	return f
}

// IfAny marks a part of a key that may be missing. If it is present, it counts at its
// place among the other parts.
func (f Field) IfAny() Field {
	f.ifAny = true
	return f
}

// Except leaves out of a hashed JSON value the members at some pointers inside it:
// those that the sender changes from one attempt to the next.
func (f Field) Except(pointers ...string) Field {
	f.less = strings.Join(pointers, "\n")
	return f
}

// Up is Field.Up for a Clock.
func (c Clock) Up(levels int) Clock {
	c.levels = levels
	return c
}

// UnknownType is provider.UnknownType.
const UnknownType = provider.UnknownType

// place names the place of the field, for messages.
func (f Field) place() string {
	switch {
	case f.Header != "":
		return "header " + f.Header
	case f.Form != "":
		return "form field " + f.Form
	}
	return cmp.Or(strings.TrimSuffix(strings.Repeat("../", f.levels), "/")+f.Pointer, "the item itself")
}

// Text returns the text of the field: not empty, and fit to be part of a key. Errors:
// *EventError.
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

// Find returns the text of the field unchanged, or "" if it is missing. A repeated
// value, a list or an object is an error. Errors: *EventError.
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

// Optional returns the text of the field, or "" if it is missing or cannot be stored.
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

// Holds reports whether the field is true, as a text or as JSON.
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

// Facts declares how one event is described: that of a whole delivery, or of an item of
// a list (see Each).
type Facts struct {
	ID       KeyRule
	Kind     Field // the type
	Fallback Field // the type if Kind has none; zero: UnknownType
	Detail   Field // appended to the type after a dot, if present
	Version  Field
	Occurred Clock
	Payload  string // form field with the JSON of a form body
	NeedJSON bool   // the body must be JSON whatever the rules read
}

// Events describes a whole delivery as one event.
func (f Facts) Events(r *provider.Request) ([]provider.Event, error) {
	return f.Of(&Document{R: r, Payload: f.Payload})
}

// Of describes the event of a document.
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
	kind, err := f.kind(d)
	if err != nil {
		return provider.Event{}, err
	}
	return provider.Event{
		ID: id, Type: kind, APIVersion: f.Version.Optional(d), OccurredAt: f.Occurred.Time(d), Item: d.item, Part: d.part(),
	}, nil
}

// kind returns the type of an event. Only an id is required of a sender: a type
// that is missing, empty, too long or not a text is the fallback, or UnknownType.
func (f Facts) kind(d *Document) (string, error) {
	kind, err := f.Kind.Text(d)
	if err != nil && f.Fallback != (Field{}) {
		kind, err = f.Fallback.Text(d)
	}
	if isUnreadable(err) {
		return "", err
	}
	return f.detailed(d, kind), nil
}

// detailed is a type with its detail, UnknownType for one that is not usable.
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

// millisecondsFrom is the number from which on a time without a unit is in
// milliseconds: as seconds it would be after the year 5000.
const millisecondsFrom = 1e11

// Time returns the time of the field, or zero: an event without a usable time is still
// an event.
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

// lenient reads a time of a body: decimals may have a fraction.
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

// EscapePointer makes a name a token of a JSON pointer.
var EscapePointer = strings.NewReplacer("~", "~0", "/", "~1")
