package route

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cel.dev/cel-go/cel"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// HTTPRequest renders an HTTP request. What is empty is the destination's own.
type HTTPRequest struct {
	Method string // POST, PUT, PATCH, DELETE or GET
	URL    string // CEL string
	// Body is CEL and yields any JSON value. Empty: the event as it came,
	// except for GET and DELETE, which then have no body.
	Body    string
	Headers map[string]string // by name; CEL strings
}

// methods that have no body unless one is given, and the others.
var methods = map[string]bool{
	http.MethodGet:    false,
	http.MethodDelete: false,
	http.MethodPost:   true,
	http.MethodPut:    true,
	http.MethodPatch:  true,
}

// forwardType is the content type of what FromDelivery sends.
func forwardType(e *outbox.Event) string {
	if e.Item != "" {
		return jsonContentType // only JSON has parts
	}
	return e.ContentType
}

// httpRequest is an HTTPRequest, compiled.
type httpRequest struct {
	method    string
	url, body *expression // nil when the field is empty
	headers   map[string]*expression
}

func compileHTTP(env *cel.Env, r *HTTPRequest, to destination.Sender, fail failFunc) *httpRequest {
	compiled := &httpRequest{method: r.Method, headers: map[string]*expression{}}
	if _, known := methods[r.Method]; r.Method != "" && !known {
		fail("http.method", r.Method, fmt.Errorf("must be one of %s", strings.Join(slices.Sorted(maps.Keys(methods)), ", ")))
	}
	compile := func(field, text string, want wanted) *expression {
		if text == "" {
			return nil
		}
		e, err := compileExpression(env, text, want)
		if err != nil {
			fail(field, text, err)
		}
		return e
	}
	compiled.url = compile("http.url", r.URL, wantText)
	compiled.body = compile("http.body", r.Body, wantAny)
	checker, checks := to.(destination.HeaderChecker)
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		field, text := "http.headers."+name, r.Headers[name]
		var err error
		if checks {
			err = checker.CheckHeader(name, "")
		}
		switch canonical := http.CanonicalHeaderKey(name); {
		case err != nil:
			fail(field, text, err)
		case compiled.headers[canonical] != nil:
			fail(field, text, errors.New("is given twice"))
		case text == "":
			fail(field, text, errors.New("needs an expression"))
		default:
			compiled.headers[canonical] = compile(field, text, wantText)
		}
	}
	return compiled
}

func (r *httpRequest) build(scope *eventScope) (ledger.Request, error) {
	request := ledger.Request{Method: r.method, Headers: map[string][]string{}}
	for _, name := range slices.Sorted(maps.Keys(r.headers)) {
		value, err := r.headers[name].evalText(scope)
		if err == nil && !isHeaderValue(value) {
			err = errors.New("yields a text with control characters")
		}
		if err != nil {
			return ledger.Request{}, fmt.Errorf("http.headers.%s: %w", name, err)
		}
		request.Headers[name] = []string{value}
	}
	if r.url != nil {
		text, err := r.url.evalText(scope)
		if err == nil {
			err = checkURL(text)
		}
		if err != nil {
			return ledger.Request{}, fmt.Errorf("http.url: %w", err)
		}
		request.URL = text
	}
	hasBody, known := methods[r.method]
	switch {
	case r.body != nil:
		value, err := r.body.eval(scope)
		if err == nil {
			request.Body, err = encodeJSON(value)
		}
		if err != nil {
			return ledger.Request{}, fmt.Errorf("http.body: %w", err)
		}
		request.ContentType = jsonContentType
	case hasBody || !known:
		request.FromDelivery = true
		request.ContentType = forwardType(scope.event)
	}
	if contentType := request.Headers["Content-Type"]; len(contentType) > 0 {
		request.ContentType = contentType[0]
		delete(request.Headers, "Content-Type")
	}
	return request, nil
}

// checkURL refuses what cannot be called. Where it may lead is for the
// destination's egress guard to say.
func checkURL(text string) error {
	if !isHeaderValue(text) {
		return errors.New("yields a URL with control characters")
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return fmt.Errorf("yields %q, it must be an absolute http or https URL", text)
	case u.User != nil:
		return errors.New("yields a URL with a user or password")
	}
	return nil
}

func isHeaderValue(value string) bool {
	return utf8.ValidString(value) && !strings.ContainsFunc(value, unicode.IsControl)
}
