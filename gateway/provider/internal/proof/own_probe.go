package proof

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/jsonpointer"
	"github.com/hooklatch/hooklatch/internal/payload"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// ownProbe answers one source's configured probes.
type ownProbe struct {
	provider.ProbeOptions

	header  string // the header to echo, in canonical form
	methods string // the endpoint's methods, for the header Allow
	verify  func(ctx context.Context, r *provider.Request, secrets []secret.Value, now time.Time) (provider.Verified, error)
	events  func(r *provider.Request) ([]provider.Event, error)
}

// maxProbe is the maximum length, in bytes, of the body of a POST that can be a probe.
const maxProbe = 4 << 10

// maxPing is the maximum length of an unsigned ping's body, in bytes.
const maxPing = 256

// setProbe gives a provider the configured probe.
func setProbe(p *provider.Provider, o provider.ProbeOptions) error {
	if err := validateProbe(o); err != nil {
		return err
	}
	if o.Methods == nil && o.Echo.Query != "" {
		o.Methods = []string{http.MethodGet}
	}
	p.Methods = slices.Concat(p.Methods, o.Methods)
	probe := &ownProbe{
		ProbeOptions: o, header: http.CanonicalHeaderKey(o.Echo.Header), methods: strings.Join(p.Methods, ", "), verify: p.Verify, events: p.Events,
	}
	if probe.header != "" {
		p.SecretHeaders = append(slices.Clone(p.SecretHeaders), probe.header) // Asana's header contains the webhook's secret
	}
	p.Handshake = probe.handshake
	return nil
}

func validateProbe(o provider.ProbeOptions) error {
	allowed := []string{http.MethodHead, http.MethodGet, http.MethodOptions}
	for i, method := range o.Methods {
		if !slices.Contains(allowed, method) {
			return &provider.OptionError{Field: "probe.methods", Value: method, Allowed: "must be one of " + strings.Join(allowed, ", ") + "; POST is used for deliveries"}
		}
		if slices.Contains(o.Methods[:i], method) {
			return &provider.OptionError{Field: "probe.methods", Value: method, Allowed: "must be given only once"}
		}
	}
	if o.Echo == (provider.EchoOptions{}) {
		if len(o.Methods) == 0 && !o.Unsigned {
			return &provider.OptionError{Field: "probe", Allowed: "at least one of methods, unsigned and echo is required"}
		}
		return nil
	}
	if err := oneMember("probe.echo", map[string]string{"query": o.Echo.Query, "header": o.Echo.Header, "field": o.Echo.Field}); err != nil {
		return err
	}
	if o.Echo.Field != "" {
		return validatePointer("probe.echo.field", o.Echo.Field)
	}
	return nil
}

// handshake answers a probe. A request with any method but POST is always a probe.
func (p *ownProbe) handshake(ctx context.Context, r *provider.Request, secrets []secret.Value, now time.Time) (*provider.Answer, error) {
	echoed, err := p.echoed(r)
	if r.Method != http.MethodPost {
		return p.probed(r, echoed, err)
	}
	if err != nil {
		echoed = nil
	}
	ping := p.Unsigned && isPing(r)
	switch {
	case echoed == nil && !ping, len(r.Body) > maxProbe, p.hasEvent(r):
		return nil, nil
	case echoed != nil:
		return echoed, nil
	case !p.isSigned(ctx, r, secrets, now):
		return &provider.Answer{Status: http.StatusOK}, nil
	}
	return nil, nil
}

// probed answers a request whose method makes it a probe.
func (p *ownProbe) probed(r *provider.Request, echoed *provider.Answer, err error) (*provider.Answer, error) {
	if err != nil {
		return nil, err
	}
	if echoed == nil {
		echoed = &provider.Answer{Status: http.StatusOK}
	}
	if r.Method == http.MethodOptions {
		return p.permitted(r, echoed)
	}
	return echoed, nil
}

// Headers by which a CloudEvents sender asks for permission, in canonical form. Source:
// github.com/cloudevents/spec, http-webhook.md, "Abuse Protection".
const (
	requestOrigin = "Webhook-Request-Origin"
	allowedOrigin = "Webhook-Allowed-Origin"
	allowedRate   = "Webhook-Allowed-Rate"
)

// permitted adds the endpoint's methods to the response to OPTIONS, and the permission if the
// sender asks for it. The permitted rate is unlimited: the gateway itself refuses excess requests.
func (p *ownProbe) permitted(r *provider.Request, answer *provider.Answer) (*provider.Answer, error) {
	if answer.Header == nil {
		answer.Header = http.Header{}
	}
	answer.Header.Set("Allow", p.methods)
	origin, err := onlyHeader(r.Header, requestOrigin)
	if err != nil {
		return nil, err
	}
	if origin != "" {
		answer.Header[allowedOrigin], answer.Header[allowedRate] = []string{origin}, []string{"*"}
	}
	return answer, nil
}

// echoed returns the response that repeats a probe's value, or nil if the probe has none.
// Errors: *EventError for a value that cannot be repeated.
func (p *ownProbe) echoed(r *provider.Request) (*provider.Answer, error) {
	switch {
	case p.Echo.Query != "":
		return EchoQuery(r, p.Echo.Query)
	case p.header != "":
		value, err := onlyHeader(r.Header, p.header)
		if value == "" || err != nil {
			return nil, err
		}
		return &provider.Answer{Status: http.StatusOK, Header: http.Header{p.header: {value}}}, nil
	case p.Echo.Field != "":
		return echoField(r, p.Echo.Field)
	}
	return nil, nil
}

// onlyHeader returns a header's value, or "" if the header is missing. It returns an error if
// the value cannot be repeated in a response.
func onlyHeader(h http.Header, name string) (string, error) {
	values := h[name]
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 || !printable(values[0]) {
		return "", &provider.EventError{Unreadable: true, Message: name + " has a value that cannot be echoed"}
	}
	return values[0], nil
}

// echoField responds with a JSON object that contains only the text at pointer. It returns nil if
// the body is empty, not JSON or longer than maxProbe, or has no text at pointer.
func echoField(r *provider.Request, pointer string) (*provider.Answer, error) {
	if len(r.Body) == 0 || len(r.Body) > maxProbe {
		return nil, nil
	}
	root, err := ParseJSON(r.Body)
	if err != nil {
		return nil, nil //nolint:nilerr // not a probe; Events explains why it is no delivery either
	}
	found := Lookup(root, pointer)
	if found.Type != gjson.String {
		return nil, nil
	}
	text := Unquote(found.Raw)
	if text == "" || len(text) > MaxEcho || !Clean(text) {
		return nil, &provider.EventError{Unreadable: true, Message: pointer + " has a value that cannot be echoed"}
	}
	var value any = text
	for _, name := range slices.Backward(jsonpointer.Tokens(pointer)) {
		value = map[string]any{name: value}
	}
	body, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return &provider.Answer{Status: http.StatusOK, ContentType: JSONType, Body: body}, nil
}

// hasEvent reports whether a request contains an event, which makes it a delivery. A JSON body
// whose only member is the value to echo contains no event, even if the source builds a key from
// any body.
func (p *ownProbe) hasEvent(r *provider.Request) bool {
	if root, err := ParseJSON(r.Body); err == nil && isOnly(root, jsonpointer.Tokens(p.Echo.Field)) {
		return false
	}
	events, err := p.events(r)
	return err == nil && len(events) > 0
}

// isOnly reports whether a JSON object has no member, or only the one at the end of a path.
func isOnly(object gjson.Result, path []string) bool {
	only := object.IsObject()
	object.ForEach(func(key, value gjson.Result) bool {
		only = only && len(path) > 0 && key.Str == path[0] && (len(path) == 1 || isOnly(value, path[1:]))
		return only
	})
	return only
}

// isSigned reports whether a request carries a signature or a token, valid or not.
func (p *ownProbe) isSigned(ctx context.Context, r *provider.Request, secrets []secret.Value, now time.Time) bool {
	_, err := p.verify(ctx, r, secrets, now)
	return !isReason(err, provider.ReasonMissingSignature, provider.ReasonMissingToken)
}

// isPing reports whether a request is only a ping: it has no body, or a short form with one field.
func isPing(r *provider.Request) bool {
	if len(r.Body) == 0 {
		return true
	}
	if len(r.Body) > maxPing || !IsForm(r) {
		return false
	}
	fields := payload.ParseForm(string(r.Body))
	if len(fields) != 1 {
		return false
	}
	for _, values := range fields {
		return len(values) == 1
	}
	return false
}
