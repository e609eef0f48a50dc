package route

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"cel.dev/cel-go/cel"

	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// HTTPRequest renders an HTTP request. Omitted fields default to the destination's.
type HTTPRequest struct {
	// Method of the request: POST, PUT, PATCH, DELETE or GET. Defaults to the destination's
	// method.
	Method string `yaml:"method,omitempty"`
	// CEL expression that returns the URL. Defaults to the destination's URL.
	URL string `yaml:"url,omitempty"`
	// CEL expression that returns the body, sent as JSON. Defaults to the event's own body, as
	// received; if method is GET or DELETE, no body.
	Body string `yaml:"body,omitempty"`
	// CEL expression that returns a message, for a destination with a preset; instead of body.
	Text string `yaml:"text,omitempty"`
	// CEL expressions that return further headers, by header name.
	Headers map[string]string `yaml:"headers,omitempty"`
}

func (r *HTTPRequest) validate() error {
	var c option.Check
	if r.Method != "" {
		c.OneOf("method", "method", r.Method, destination.Methods()...)
	}
	if r.Text != "" && r.Body != "" {
		c.Failf("text", nil, "at most one of body and text may be given")
	}
	checkHeaders(&c, r.Headers)
	return c.Err()
}

// mayBeEmpty reports whether requests with the method have no body unless one is given.
func mayBeEmpty(method string) bool { return method == http.MethodGet || method == http.MethodDelete }

// forwardType returns the content type of a request with FromDelivery.
func forwardType(e *inbox.Event) string {
	if e.Item != "" {
		return jsonContentType // Item points into a JSON body
	}
	return e.ContentType
}

// httpRequest is a compiled HTTPRequest.
type httpRequest struct {
	method    string                // the route's; may be empty
	used      string                // the route's or, if that is empty, the destination's
	url, body *expression           // nil if the field is empty
	text      *expression           // nil if the field is empty
	messenger destination.Messenger // makes the body from the text
	headers   map[string]*expression
}

func compileHTTP(env *cel.Env, r *HTTPRequest, to destination.Sender, fail failFunc) *httpRequest {
	compiled := &httpRequest{method: r.Method, used: r.Method}
	if to != nil {
		compiled.used = cmp.Or(r.Method, to.FirstRequest(nil).Method)
	}
	compile := func(field, text string, want wanted) *expression { return compileField(env, field, text, want, fail) }
	compiled.url = compile("http.url", r.URL, wantText)
	compiled.body = compile("http.body", r.Body, wantAny)
	compiled.text = compile("http.text", r.Text, wantText)
	if r.Text != "" {
		messenger, is := to.(destination.Messenger)
		if is {
			_, is = messenger.Message("")
		}
		if !is {
			fail("http.text", r.Text, errors.New("needs a destination with http.preset: "+strings.Join(destination.Presets(), ", ")))
		}
		compiled.messenger = messenger
	}
	compiled.headers = compileHeaders(env, "http", r.Headers, to, fail)
	return compiled
}

func (r *httpRequest) build(scope *eventScope) (ledger.Request, error) {
	headers, err := buildHeaders("http", r.headers, scope)
	if err != nil {
		return ledger.Request{}, err
	}
	request := ledger.Request{Method: r.method, Headers: headers}
	if r.url != nil {
		text, err := r.url.evalText(scope)
		if err == nil {
			err = checkURL(text)
		}
		if u, ok := url.Parse(text); ok == nil && u.Path == "" && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" {
			text += "/" // a stored URL without a path stands for a destination's secret URL
		}
		if err != nil {
			return ledger.Request{}, fmt.Errorf("http.url: %w", err)
		}
		request.URL = text
	}
	switch {
	case r.text != nil:
		text, err := r.text.evalText(scope)
		if err != nil {
			return ledger.Request{}, fmt.Errorf("http.text: %w", err)
		}
		request.Body, _ = r.messenger.Message(text)
		request.ContentType = jsonContentType
	case r.body != nil:
		value, err := r.body.eval(scope)
		if err == nil {
			request.Body, err = encodeJSON(value)
		}
		if err != nil {
			return ledger.Request{}, fmt.Errorf("http.body: %w", err)
		}
		request.ContentType = jsonContentType
	case !mayBeEmpty(r.used):
		request.FromDelivery = true
		request.ContentType = forwardType(scope.event)
	}
	takeContentType(&request)
	return request, nil
}

// checkURL rejects URLs that are not absolute http or https URLs, or that contain a user, a
// password or control characters. The destination's egress guard decides which of the other URLs
// may be reached.
func checkURL(text string) error {
	if !isHeaderValue(text) {
		return errors.New("yields a URL with control characters")
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return errors.New("yields no absolute http or https URL")
	case u.User != nil:
		return errors.New("yields a URL with a user or password")
	}
	return nil
}
