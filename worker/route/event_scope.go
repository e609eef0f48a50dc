package route

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"cel.dev/cel-go/cel"

	"github.com/hooklatch/hooklatch/internal/jsonpointer"
	"github.com/hooklatch/hooklatch/internal/payload"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

const jsonContentType = "application/json"

var eventViewType = reflect.TypeFor[*eventView]()

// eventScope provides one event to expressions and templates. The payload is parsed on first use,
// so that a route that only forwards it needs no parsing. An eventScope belongs to one goroutine.
type eventScope struct {
	ctx     context.Context           // context of the run that evaluates the expressions
	meter   meter                     // meter of the current evaluation
	maxBody func(source string) int64 // see Options.MaxBody; may be nil
	timeout time.Duration             // limit for one evaluation; 0 for evalTimeout
	event   *inbox.Event
	view    *eventView
	headers map[string]string
	body    any
	parsed  bool
	// current is the result of a refetch; nil without a refetch.
	current any
}

var _ cel.Activation = (*eventScope)(nil)

func newEventScope(ctx context.Context, e *inbox.Event) *eventScope {
	view := &eventView{
		ID:         string(e.EventID),
		Type:       e.Type,
		Source:     string(e.Source),
		Provider:   e.Provider,
		OccurredAt: e.OccurredAt,
		ReceivedAt: e.ReceivedAt,
		Origin:     string(cmp.Or(e.Origin, identity.Webhook)),
		Altered:    e.Altered,
	}
	if view.OccurredAt.IsZero() {
		view.OccurredAt = view.ReceivedAt
	}
	view.Age = max(0, view.ReceivedAt.Sub(view.OccurredAt))
	return &eventScope{ctx: ctx, event: e, view: view}
}

// ResolveName implements cel.Activation.
func (s *eventScope) ResolveName(name string) (any, bool) {
	switch name {
	case "event":
		return s.view, true
	case "body":
		return s.parsedBody(), true
	case "headers":
		return s.lowerHeaders(), true
	case "current":
		return s.current, true
	case meterName:
		return &s.meter, true
	}
	return nil, false
}

// Parent implements cel.Activation.
func (s *eventScope) Parent() cel.Activation { return nil }

// templateData returns the variables of templates, named as in expressions.
func (s *eventScope) templateData() (map[string]any, error) {
	if err := s.loadBody(); err != nil {
		return nil, err
	}
	return map[string]any{
		"event": map[string]any{
			"id":          s.view.ID,
			"type":        s.view.Type,
			"source":      s.view.Source,
			"provider":    s.view.Provider,
			"occurred_at": s.view.OccurredAt,
			"received_at": s.view.ReceivedAt,
			"origin":      s.view.Origin,
			"altered":     s.view.Altered,
			"age":         s.view.Age,
		},
		"body":    s.parsedBody(),
		"headers": s.lowerHeaders(),
		"current": s.current,
	}, nil
}

// loadBody parses the body, or fails if the body is larger than the current limit of its source.
// Such a body was accepted under an earlier limit.
func (s *eventScope) loadBody() error {
	if s.maxBody != nil {
		size, limit := int64(len(s.event.Payload())), s.maxBody(string(s.event.Source))
		if limit > 0 && size > limit {
			return fmt.Errorf("body has %d bytes; source %q allows at most %d (max_body)", size, s.event.Source, limit)
		}
	}
	s.parsedBody()
	return nil
}

// lowerHeaders returns the headers by lower-case name. It joins repeated headers with ", ", as RFC
// 9110 section 5.3 allows.
func (s *eventScope) lowerHeaders() map[string]string {
	if s.headers == nil {
		s.headers = make(map[string]string, len(s.event.Headers))
		for name, values := range s.event.Headers {
			s.headers[strings.ToLower(name)] = strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD")
		}
	}
	return s.headers
}

func (s *eventScope) parsedBody() any {
	if !s.parsed {
		s.parsed = true
		contentType := s.event.ContentType
		if s.event.Item != "" {
			contentType = jsonContentType // only JSON has parts
		}
		s.body = parsePayload(contentType, s.event.Payload())
	}
	return s.body
}

// parsePayload returns the payload as maps, lists, strings, int64, uint64, float64, bool and
// nil. A form, URL-encoded or multipart, becomes a map of strings, or of lists where a field is
// repeated; a file becomes its hash. A payload that is neither JSON nor a form becomes nil.
func parsePayload(contentType string, body []byte) any {
	body = jsonpointer.WithoutMark(body)
	if payload.IsForm(contentType, body) || payload.IsMultipart(contentType, body) {
		return parseForm(contentType, body)
	}
	value, err := parseJSON(body)
	if err != nil {
		return nil
	}
	return value
}

func parseForm(contentType string, body []byte) any {
	values, err := payload.Fields(contentType, body)
	if err != nil {
		return nil
	}
	form := make(map[string]any, len(values))
	for name, list := range values {
		for i := range list {
			list[i] = strings.ToValidUTF8(list[i], "\uFFFD")
		}
		name = strings.ToValidUTF8(name, "\uFFFD")
		if len(list) == 1 {
			form[name] = list[0]
			continue
		}
		items := make([]any, len(list))
		for i := range list {
			items[i] = list[i]
		}
		form[name] = items
	}
	return form
}

func parseJSON(body []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("parse JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("parse JSON: more than one value")
	}
	return exactNumbers(value), nil
}

// exactNumbers converts every json.Number to its exact integer, or otherwise to the nearest double.
func exactNumbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			v[key] = exactNumbers(item)
		}
	case []any:
		for i, item := range v {
			v[i] = exactNumbers(item)
		}
	case json.Number:
		return exactNumber(string(v))
	}
	return value
}

func exactNumber(text string) any {
	if !strings.ContainsAny(text, ".eE") {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			return n
		}
	}
	// A number out of range becomes an infinity, which no rendered request can contain.
	f, _ := strconv.ParseFloat(text, 64)
	return f
}
