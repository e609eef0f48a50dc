package whatif

import (
	"time"
	"unicode/utf8"

	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// mostBody is the maximum number of bytes of a rendered body that an Example keeps.
const mostBody = 2 << 10

// Example shows a Difference for one event, with the effects as rendered.
type Example struct {
	Event      identity.EventRef `json:"event"`
	ReceivedAt time.Time         `json:"received_at"`
	Before     *Effect           `json:"before,omitempty"`
	After      *Effect           `json:"after,omitempty"`
}

// Effect is a planned effect for display.
type Effect struct {
	IdempotencyKey string              `json:"idempotency_key"`
	Route          string              `json:"route"`
	Destination    string              `json:"destination"`
	Key            identity.Key        `json:"key"`
	Policy         ledger.Policy       `json:"policy,omitzero"`
	Order          string              `json:"order,omitzero"`
	Latest         string              `json:"latest,omitzero"`
	Parked         string              `json:"parked,omitzero"`  // reason why the effect is created parked
	Refetch        bool                `json:"refetch,omitzero"` // the first attempt renders the request
	Method         string              `json:"method,omitzero"`
	URL            string              `json:"url,omitzero"`
	Headers        map[string][]string `json:"headers,omitempty"`
	ContentType    string              `json:"content_type,omitzero"`
	// Body is the beginning of the rendered body, if it is text. BodyBytes is the length of the
	// whole body.
	Body      string `json:"body,omitzero"`
	BodyBytes int    `json:"body_bytes"`
}

// Cut reports whether only the beginning of the body is kept.
func (e *Effect) Cut() bool { return e.Body != "" && len(e.Body) < e.BodyBytes }

func exampleOf(e *inbox.Event, d Difference) Example {
	return Example{Event: e.EventRef, ReceivedAt: e.ReceivedAt, Before: EffectOf(d.Before), After: EffectOf(d.After)}
}

// EffectOf returns a planned effect for display, or nil for nil.
func EffectOf(e *ledger.NewEffect) *Effect {
	if e == nil {
		return nil
	}
	r := e.Request
	shown := &Effect{
		IdempotencyKey: e.IdempotencyKey(), Route: e.Route, Destination: e.Destination, Key: e.Key, Policy: e.Policy, Order: e.OrderKey, Latest: e.LatestKey,
		Parked: e.Parked, Refetch: r.Late, Method: r.Method, URL: r.URL, Headers: r.Headers, ContentType: r.ContentType, BodyBytes: len(r.Body),
	}
	if utf8.Valid(r.Body) {
		shown.Body = safetext.Cut(string(r.Body[:min(len(r.Body), mostBody+utf8.UTFMax)]), mostBody)
	}
	return shown
}
