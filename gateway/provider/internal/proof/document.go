package proof

import (
	"errors"
	"net/url"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/jsonpointer"
	"github.com/hooklatch/hooklatch/internal/payload"
)

// Document is a verified request's body, or one item from a list in it, parsed only as far as
// needed. Parsing does not change the bytes.
type Document struct {
	R *provider.Request
	// Payload is the form field that contains the JSON if the body is a form; empty for
	// senders without such a field.
	Payload string

	text     *jsonpointer.Text // nil before it is read, and for an item
	root     gjson.Result      // for an item
	isRead   bool
	unusable error // why the text cannot be read; nil if it can

	Fields    url.Values
	fieldsErr error

	around *Document // for an item: the document that contains its list
	item   string    // for an item: its JSON pointer inside the body
	// found caches the values that list items look up in this document. Without the cache, a
	// thousand items that read the same member would scan the document a thousand times.
	found map[string]gjson.Result
}

// within returns the document for a list item in d.
func (d *Document) within(item gjson.Result, pointer string) *Document {
	return &Document{R: d.R, root: item, isRead: true, around: d, item: d.item + pointer}
}

// above returns the document that is the given number of lists above d, or the body's document if
// there are fewer lists.
func (d *Document) above(levels int) *Document {
	for ; levels > 0 && d.around != nil; levels-- {
		d = d.around
		if d.found == nil {
			d.found = map[string]gjson.Result{}
		}
	}
	return d
}

// At returns the value at a pointer. If the document has no value there, the result's method Exists
// returns false.
func (d *Document) At(pointer string) (gjson.Result, error) {
	if value, known := d.found[pointer]; known {
		return value, nil
	}
	if err := d.readJSON(); err != nil {
		return gjson.Result{}, err
	}
	value := d.lookup(pointer)
	if d.found != nil {
		d.found[pointer] = value
	}
	return value, nil
}

// part returns an item's text, or nil for the complete body.
func (d *Document) part() []byte {
	if d.item == "" {
		return nil
	}
	return []byte(d.root.Raw)
}

// Blame adds the item's location to an error.
func (d *Document) Blame(err error) error {
	if unusable, ok := errors.AsType[*provider.EventError](err); ok && d.item != "" {
		return &provider.EventError{Unreadable: unusable.Unreadable, Message: d.item + ": " + unusable.Message}
	}
	return err
}

func (d *Document) lookup(pointer string) gjson.Result {
	if d.text == nil {
		return Lookup(d.root, pointer)
	}
	return d.text.Lookup(pointer)
}

// JSON returns the document's JSON value: the whole body, or the list item.
func (d *Document) JSON() (gjson.Result, error) {
	if err := d.readJSON(); err != nil {
		return gjson.Result{}, err
	}
	if d.text == nil {
		return d.root, nil
	}
	return d.text.Root(), nil
}

func (d *Document) readJSON() error {
	if d.isRead {
		return d.unusable
	}
	d.isRead = true
	body := d.R.Body
	if d.Payload != "" && IsForm(d.R) {
		fields, err := d.Form()
		if err != nil {
			d.unusable = err
			return err
		}
		body = []byte(fields.Get(d.Payload))
	}
	d.text, d.unusable = readJSON(body)
	return d.unusable
}

// Form returns the fields of a form body.
func (d *Document) Form() (url.Values, error) {
	if d.around != nil {
		return d.around.Form()
	}
	if d.Fields == nil && d.fieldsErr == nil {
		fields, err := payload.Fields(d.R.Header.Get("Content-Type"), d.R.Body)
		switch {
		case len(d.R.Body) == 0:
			d.fieldsErr = &provider.EventError{Unreadable: true, Message: "the body is empty; a form is expected"}
		case err != nil:
			d.fieldsErr = &provider.EventError{Unreadable: true, Message: err.Error()}
		}
		d.Fields = fields
	}
	return d.Fields, d.fieldsErr
}

// ParseJSON parses a body. It returns an *EventError with Unreadable set if the body is not
// JSON.
func ParseJSON(body []byte) (gjson.Result, error) {
	text, err := readJSON(body)
	if err != nil {
		return gjson.Result{}, err
	}
	return text.Root(), nil
}

func readJSON(body []byte) (*jsonpointer.Text, error) {
	if len(jsonpointer.WithoutMark(body)) == 0 {
		return nil, &provider.EventError{Unreadable: true, Message: "the body is empty; JSON is expected"}
	}
	text, ok := jsonpointer.Read(body)
	if !ok {
		return nil, &provider.EventError{Unreadable: true, Message: "the body is not JSON"}
	}
	return text, nil
}

// IsForm reports whether a request has a form body: its Content-Type says so, and the body does not
// begin like JSON.
func IsForm(r *provider.Request) bool { return payload.IsForm(r.Header.Get("Content-Type"), r.Body) }

// hasFields is like IsForm, but also returns true for multipart forms. It is for sources whose
// options select the fields.
func hasFields(r *provider.Request) bool {
	return IsForm(r) || payload.IsMultipart(r.Header.Get("Content-Type"), r.Body)
}

// FormType and JSONType are the content types of urlencoded forms and of JSON.
const (
	FormType = payload.FormType
	JSONType = "application/json"
)

// QueryAsForm returns the query of a request without a body as a form, and nothing for any other
// request. It is for senders that put the event into the URL if they send no body.
func QueryAsForm(r *provider.Request) (contentType string, body []byte) {
	if len(r.Body) > 0 || r.URL == nil || r.URL.RawQuery == "" {
		return "", nil
	}
	return FormType, []byte(r.URL.RawQuery)
}

// Lookup returns the value at a JSON pointer. If root has no value there, the result's method
// Exists returns false.
func Lookup(root gjson.Result, pointer string) gjson.Result { return jsonpointer.Lookup(root, pointer) }

// Scalar returns a string's or an integer's text, and false for any other value.
func Scalar(v gjson.Result) (string, bool) {
	switch v.Type {
	case gjson.String:
		return Unquote(v.Raw), true
	case gjson.Number:
		digits := strings.TrimPrefix(v.Raw, "-")
		if strings.Trim(digits, "0123456789") != "" {
			return "", false
		}
		return strings.Clone(v.Raw), true
	}
	return "", false
}
