package route

import (
	"errors"
	"fmt"

	"cel.dev/cel-go/cel"

	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// MessageRequest renders a message for a broker. Omitted fields default to the destination's.
type MessageRequest struct {
	// CEL expression that returns the address within the broker: the subject (nats) or the
	// routing key (rabbitmq). Defaults to the destination's address.
	Address string `yaml:"address,omitempty"`
	// CEL expression that returns the body, sent as JSON. Defaults to the event's own body, as
	// received.
	Body string `yaml:"body,omitempty"`
	// CEL expressions that return further headers, by header name.
	Headers map[string]string `yaml:"headers,omitempty"`
}

func (r *MessageRequest) validate() error {
	var c option.Check
	checkHeaders(&c, r.Headers)
	return c.Err()
}

// messageRequest is a compiled MessageRequest.
type messageRequest struct {
	address, body *expression // nil if the field is empty
	headers       map[string]*expression
}

func compileMessage(env *cel.Env, r *MessageRequest, to destination.Sender, fail failFunc) *messageRequest {
	compile := func(field, text string, want wanted) *expression { return compileField(env, field, text, want, fail) }
	return &messageRequest{
		address: compile("message.address", r.Address, wantText),
		body:    compile("message.body", r.Body, wantAny),
		headers: compileHeaders(env, "message", r.Headers, to, fail),
	}
}

func (r *messageRequest) build(scope *eventScope) (ledger.Request, error) {
	headers, err := buildHeaders("message", r.headers, scope)
	if err != nil {
		return ledger.Request{}, err
	}
	request := ledger.Request{Headers: headers}
	if r.address != nil {
		request.URL, err = r.address.evalText(scope)
		if err == nil && request.URL == "" {
			err = errors.New("yields an empty string")
		}
		if err != nil {
			return ledger.Request{}, fmt.Errorf("message.address: %w", err)
		}
	}
	if r.body == nil {
		request.FromDelivery, request.ContentType = true, forwardType(scope.event)
	} else {
		value, err := r.body.eval(scope)
		if err == nil {
			request.Body, err = encodeJSON(value)
		}
		if err != nil {
			return ledger.Request{}, fmt.Errorf("message.body: %w", err)
		}
		request.ContentType = jsonContentType
	}
	takeContentType(&request)
	return request, nil
}
