package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/time/rate"

	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// TestEvents delivers test events to the gateway, signed as the source's provider would sign them.
type TestEvents interface {
	// WhyNot returns the reason why no test event can be sent to a source, or "".
	WhyNot(source string) string
	// Prepare creates an event with a new id. An empty type means a common type of the provider.
	Prepare(source, eventType string) (TestEvent, error)
}

// TestEvent is an event before its delivery.
type TestEvent struct {
	ID      string // empty if the event has no single id
	URL     string // URL of the source's endpoint
	Deliver func(ctx context.Context) Delivered
}

// Delivered is the gateway's response to a test event.
type Delivered struct {
	Status int           // 0 without a response
	Result string        // accepted or duplicate, as the gateway states it
	Body   string        // body of a response that is not 2xx
	Error  string        // why there is no response
	Took   time.Duration // time until the response
}

// Accepted reports whether the gateway accepted the delivery.
func (d Delivered) Accepted() bool { return d.Status/100 == 2 }

const (
	// testEventsPerSecond and testEventsAtOnce limit the test events of all users.
	testEventsPerSecond = 1
	testEventsAtOnce    = 5
	// maxEventType is the maximum length of a test event's type, in bytes.
	maxEventType = 200
)

func newTestEventLimit() *rate.Limiter {
	return rate.NewLimiter(testEventsPerSecond, testEventsAtOnce)
}

// sendPage is the form for a test event, and the response to the event that was just sent.
type sendPage struct {
	view

	Name string // name of the source
	Verb desk.Verb
	Type string
	Sent *sentEvent // nil before an event is sent
	Back string     // path of the source's page
}

// sentEvent is the JSON of a test event that was sent.
type sentEvent struct {
	Source    string `json:"source"`
	EventID   string `json:"event_id,omitzero"`
	URL       string `json:"url"`
	Status    int    `json:"status"`
	Result    string `json:"result,omitzero"`
	Body      string `json:"body,omitzero"`
	Error     string `json:"error,omitzero"`
	TookMS    int64  `json:"took_ms"`
	RequestID string `json:"request_id"`
}

// Accepted reports whether the gateway accepted the event.
func (s sentEvent) Accepted() bool { return s.Status/100 == 2 }

func (p sendPage) data() (any, error) { return p.Sent, nil }

// whyNoTestEvent returns the reason why this console sends no test event to a source, or "".
func (c *Console) whyNoTestEvent(source string) string {
	switch {
	case !slices.Contains(c.sourceNames(), source):
		return "This source is not in the configuration of this process."
	case c.opts.TestEvents == nil:
		return "This console sends no test events."
	}
	if why := c.opts.TestEvents.WhyNot(source); why != "" {
		return sentence(why)
	}
	return ""
}

// sendPageOf returns the form for a test event to the source in the URL. Errors: *problem.
func sendPageOf(r *request) (sendPage, error) {
	name := r.PathValue("name")
	p := sendPage{view: r.view("sources", "Send a test event"), Name: name, Verb: desk.By(desk.ActionSendEvent), Back: sourcePath(name)}
	if !slices.Contains(r.sourceNames(), name) {
		return p, noSuchSource(name)
	}
	if why := r.whyNoTestEvent(name); why != "" {
		return p, &problem{status: http.StatusConflict, heading: "No test event can be sent", text: why}
	}
	return p, nil
}

// askSend shows the form for a test event.
func askSend(r *request) error {
	p, err := sendPageOf(r)
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "send", p)
}

// sendEvent records that the user sends a test event, and delivers the event. It redirects a
// browser to the page of an accepted event, and shows any other response.
func sendEvent(r *request) error {
	if err := r.ParseForm(); err != nil {
		return unreadableForm()
	}
	p, err := sendPageOf(r)
	if err != nil {
		return err
	}
	if p.Type = strings.TrimSpace(r.PostForm.Get("type")); len(p.Type) > maxEventType || !storable(p.Type) {
		return &invalid{"Type", middle(p.Type), fmt.Sprintf("it must be text of at most %d bytes", maxEventType)}
	}
	if !r.sending.Allow() {
		r.w.Header().Set("Retry-After", "1")
		return &problem{status: http.StatusTooManyRequests, heading: "Too many test events", text: "All users together can send one test event per second. Try again in a moment."}
	}
	e, err := r.opts.TestEvents.Prepare(p.Name, p.Type)
	if err != nil {
		return &problem{status: http.StatusConflict, heading: "No test event can be sent", text: sentence(err.Error())}
	}
	ref := identity.EventRef{Source: identity.Source(p.Name), EventID: identity.EventID(e.ID)}
	target := p.Name
	if e.ID != "" {
		target = ref.String() // the event's page lists this action
	}
	what := ledger.Instruction{Action: desk.ActionSendEvent, Target: target}
	by := r.operator(strings.TrimSpace(r.PostForm.Get("reason")))
	by.RequestID = r.id // a form that is sent twice sends two events, and both must be recorded
	if err := r.ledger.Act(r.Context(), by, what, func(context.Context, pgx.Tx) (ledger.Consequence, error) {
		return ledger.Consequence{Result: "test event sent to " + e.URL, Affected: 1}, nil
	}); err != nil {
		return err
	}
	came := e.Deliver(r.Context())
	if came.Accepted() && e.ID != "" && !r.asData {
		r.seeOther(eventPath(ref), p.Verb.Name)
		return nil
	}
	p.Sent = &sentEvent{
		Source: p.Name, EventID: e.ID, URL: e.URL, Status: came.Status, Result: came.Result, Body: came.Body, Error: came.Error, TookMS: came.Took.Milliseconds(), RequestID: r.id,
	}
	status := http.StatusOK
	if !came.Accepted() {
		status = http.StatusBadGateway
	}
	return r.render(status, "send", p)
}
