package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// MaxOrder is the maximum size of a POST body, in bytes.
const MaxOrder = 64 << 10

// OrderError is returned for a body that cannot be read. In that case, nothing was done.
type OrderError struct {
	Status int
	Why    string // reason, as a sentence
}

// Error implements error.
func (e *OrderError) Error() string { return e.Why }

// ReadOrder reads a JSON body as the form that a page would send. The map takes contains the
// allowed fields with their JSON types. Errors: *OrderError.
func ReadOrder(w http.ResponseWriter, r *http.Request, takes map[string]string) (url.Values, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, &OrderError{http.StatusUnsupportedMediaType, "The body must be JSON: send it with the header Content-Type: application/json."}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxOrder))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, &OrderError{http.StatusRequestEntityTooLarge, fmt.Sprintf("The body is too large: at most %d bytes are allowed.", MaxOrder)}
	}
	if err != nil {
		return nil, &OrderError{http.StatusBadRequest, "The body is incomplete."}
	}
	return parseOrder(body, takes)
}

func parseOrder(body []byte, takes map[string]string) (url.Values, error) {
	var given map[string]any
	if err := json.Unmarshal(body, &given); err != nil || given == nil {
		return nil, &OrderError{http.StatusBadRequest, "The body must be a JSON object, such as {} or {\"reason\": \"receiver was down\"}."}
	}
	form := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		kind, known := takes[name]
		if !known {
			return nil, &OrderError{http.StatusBadRequest, fmt.Sprintf("Unknown field %q. Allowed: %s.", name, list(takes))}
		}
		text, fits := asForm(given[name], kind)
		if !fits {
			return nil, &OrderError{http.StatusBadRequest, fmt.Sprintf("%q must be %s.", name, kinds[kind])}
		}
		if text != "" {
			form.Set(name, text)
		}
	}
	return form, nil
}

var kinds = map[string]string{"string": "a string", "boolean": "true or false", "integer": "a whole number"}

// asForm converts a value to the text of a form field. For false, the text is empty, because a form
// does not send an unticked box.
func asForm(value any, kind string) (text string, fits bool) {
	switch value := value.(type) {
	case string:
		return value, kind == "string"
	case bool:
		if value {
			text = "yes"
		}
		return text, kind == "boolean"
	case float64:
		return strconv.FormatInt(int64(value), 10), kind == "integer" && value == float64(int64(value))
	}
	return "", false
}

func list(takes map[string]string) string {
	if len(takes) == 0 {
		return "nothing"
	}
	return strings.Join(slices.Sorted(maps.Keys(takes)), ", ")
}
