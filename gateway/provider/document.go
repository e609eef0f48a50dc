package provider

import (
	"encoding/json"
	"mime"
	"net/url"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// document is the body of a proven request, parsed as far as it is asked for.
// The bytes themselves stay as they came.
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

// isForm tells whether a body is a form: by its content type, which no scheme
// signs, and by its first byte, which no form shares with a JSON container.
func isForm(r *Request) bool {
	if len(r.Body) > 0 && (r.Body[0] == '{' || r.Body[0] == '[') {
		return false
	}
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && mediaType == formType
}

const (
	formType = "application/x-www-form-urlencoded"
	jsonType = "application/json"
)

// lookup follows a JSON pointer (RFC 6901). Of equal keys the last one counts,
// as in encoding/json and in jsonb. It walks members instead of using gjson's
// path language, in which a key can be an operator.
func lookup(root gjson.Result, pointer string) gjson.Result {
	for _, token := range pointerTokens(pointer) {
		var found gjson.Result
		switch {
		case root.IsObject():
			root.ForEach(func(key, value gjson.Result) bool {
				if key.Str == token {
					found = value
				}
				return true
			})
		case root.IsArray():
			index, err := strconv.Atoi(token)
			if err != nil || strconv.Itoa(index) != token {
				break
			}
			i := 0
			root.ForEach(func(_, value gjson.Result) bool {
				if i == index {
					found = value
				}
				i++
				return i <= index
			})
		}
		if !found.Exists() {
			return gjson.Result{}
		}
		root = found
	}
	return root
}

// pointerTokens splits a pointer into the names and indexes it goes through.
func pointerTokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	tokens := strings.Split(pointer[1:], "/")
	for i, token := range tokens {
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
	}
	return tokens
}

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
