package provider

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/outbox/jsonpointer"
	"github.com/hooklatch/hooklatch/outbox/payload"
)

// document is the body of a proven request, parsed as far as it is asked for,
// or one item of a list in it. The bytes themselves stay as they came.
type document struct {
	r *Request
	// payload is the form field that holds the JSON where the body is a form;
	// empty for senders that know no such thing.
	payload string

	root    gjson.Result
	rootErr error
	parsed  bool

	fields    url.Values
	fieldsErr error

	around *document // of an item: what its list stands in
	item   string    // of an item: its JSON pointer inside the body
	// found is what items looked up here. It keeps a batch linear in its size:
	// a thousand items that read the same member scan for it once.
	found map[string]gjson.Result
}

// within returns the document of an item of a list in d.
func (d *document) within(item gjson.Result, pointer string) *document {
	return &document{r: d.r, root: item, parsed: true, around: d, item: d.item + pointer}
}

// above returns the document so many lists further up.
func (d *document) above(levels int) *document {
	for ; levels > 0 && d.around != nil; levels-- {
		d = d.around
		if d.found == nil {
			d.found = map[string]gjson.Result{}
		}
	}
	return d
}

// at returns what stands at a pointer, if anything does.
func (d *document) at(pointer string) (gjson.Result, error) {
	if value, known := d.found[pointer]; known {
		return value, nil
	}
	root, err := d.json()
	if err != nil {
		return gjson.Result{}, err
	}
	value := lookup(root, pointer)
	if d.found != nil {
		d.found[pointer] = value
	}
	return value, nil
}

// part returns the text of an item, nil for the whole body.
func (d *document) part() []byte {
	if d.item == "" {
		return nil
	}
	return []byte(d.root.Raw)
}

// blame names the item an error is about.
func (d *document) blame(err error) error {
	if unusable, ok := errors.AsType[*EventError](err); ok && d.item != "" {
		return &EventError{Unreadable: unusable.Unreadable, Message: d.item + ": " + unusable.Message}
	}
	return err
}

// json returns the root of the body's JSON.
func (d *document) json() (gjson.Result, error) {
	if d.parsed {
		return d.root, d.rootErr
	}
	d.parsed = true
	body := d.r.Body
	if d.payload != "" && isForm(d.r) {
		fields, err := d.form()
		if err != nil {
			d.rootErr = err
			return d.root, err
		}
		body = []byte(fields.Get(d.payload))
	}
	d.root, d.rootErr = parseJSON(body)
	return d.root, d.rootErr
}

// form returns the fields of a form body.
func (d *document) form() (url.Values, error) {
	if d.around != nil {
		return d.around.form()
	}
	if d.fields == nil && d.fieldsErr == nil {
		fields, err := url.ParseQuery(string(d.r.Body))
		switch {
		case len(d.r.Body) == 0:
			d.fieldsErr = &EventError{Unreadable: true, Message: "the body is empty, a form is needed"}
		case err != nil:
			d.fieldsErr = &EventError{Unreadable: true, Message: "the body is not a form (application/x-www-form-urlencoded)"}
		}
		d.fields = fields
	}
	return d.fields, d.fieldsErr
}

func parseJSON(body []byte) (gjson.Result, error) {
	switch {
	case len(body) == 0:
		return gjson.Result{}, &EventError{Unreadable: true, Message: "the body is empty, JSON is needed"}
	case !json.Valid(body):
		return gjson.Result{}, &EventError{Unreadable: true, Message: "the body is not JSON"}
	}
	return gjson.ParseBytes(body), nil
}

func isForm(r *Request) bool { return payload.IsForm(r.Header.Get("Content-Type"), r.Body) }

const (
	formType = payload.FormType
	jsonType = "application/json"
)

// lookup returns what a JSON pointer points to, if anything does.
func lookup(root gjson.Result, pointer string) gjson.Result { return jsonpointer.Lookup(root, pointer) }

// scalar returns the text of a string or of an integer.
func scalar(v gjson.Result) (string, bool) {
	switch v.Type {
	case gjson.String:
		return unquote(v.Raw), true
	case gjson.Number:
		digits := strings.TrimPrefix(v.Raw, "-")
		if strings.Trim(digits, "0123456789") != "" {
			return "", false
		}
		return strings.Clone(v.Raw), true
	}
	return "", false
}
