package console

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/hooklatch/hooklatch/internal/program/console/pretty"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/program/life"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

type eventPage struct {
	view
	*life.Event

	TraceID  string
	Offers   []offer
	WhyNone  string // reason why there are no effects
	RawPath  string // path of the exact bytes; empty if the caller must not see them
	Payload  pretty.Payload
	Headers  []header
	Commands []command
}

func (p eventPage) data() (any, error) { return p.Data(), nil }

// Action describes an operator action in one line.
func (eventPage) Action(a ledger.OperatorAction) string { return life.ActionLine(a) }

// header is one header of a delivery or a request.
type header struct{ Name, Value string }

// command is a shell command that a page offers to copy. What describes the command.
type command struct{ ID, What, Text string }

// eventOf returns the reference of the event in the URL. An id that a path cannot contain is in the
// query, and the path then contains "-".
func eventOf(r *request) identity.EventRef {
	ref := identity.EventRef{Source: identity.Source(r.PathValue("source")), EventID: identity.EventID(r.PathValue("id"))}
	if ref.EventID == "-" && r.URL.Query().Has("id") {
		ref.EventID = identity.EventID(r.URL.Query().Get("id"))
	}
	return ref
}

// readEvent reads the event in the URL.
func readEvent(r *request) (*inbox.Event, error) {
	ref := eventOf(r)
	if !storable(string(ref.Source)) || !storable(string(ref.EventID)) {
		return nil, noSuchEvent(ref)
	}
	return r.recall(ref)
}

// recall reads an event. The export may hang, so reads of it have places of their own: pages about
// stored events do not wait for them.
func (r *request) recall(ref identity.EventRef) (*inbox.Event, error) {
	if err := r.place.take(r.Context()); err != nil {
		return nil, err
	}
	e, more, err := r.inbox.Stored(r.Context(), ref)
	if more {
		if err := r.place.takeExported(r.Context()); err != nil {
			return nil, err
		}
		e, err = r.inbox.Recall(r.Context(), ref)
	}
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, noSuchEvent(ref)
	}
	return e, err
}

func subjectOfEvent(e *inbox.Event) subject {
	return subject{
		Target: desk.Target{Event: e.EventRef}, State: string(e.Outcome), Of: e.EventRef.String() + ", " + string(e.Outcome), Back: eventPath(e.EventRef),
		place: func(verb string) string { return eventPart(e.EventRef, "/"+verb) }, noSuch: noSuchEvent(e.EventRef), event: e,
	}
}

// eventSubject returns the event in the URL as the subject of operator actions. An action needs no
// place for a body, so it does not wait for pages of other users.
func eventSubject(r *request) (subject, error) {
	r.place.waive()
	e, err := readEvent(r)
	if err != nil {
		return subject{}, err
	}
	return subjectOfEvent(e), nil
}

func noSuchEvent(ref identity.EventRef) *problem {
	return &problem{
		status: http.StatusNotFound, heading: "Event not found",
		text: fmt.Sprintf("No event %s was accepted, or its row was deleted after its retention: retention.dedup in the configuration sets how long events are kept.", ref),
	}
}

// showEvent shows one event with its effects.
func showEvent(r *request) error {
	e, err := readEvent(r)
	if err != nil {
		return err
	}
	l, err := life.ReadEvent(r.Context(), r.opts.Outbox, e)
	if err != nil {
		return err
	}
	explain(r, l)
	s := r.seen(e.Source)
	shown := s.Payload(e)
	shows := func(e life.Effect) bool { return r.seen(e.Event.Source).ShowsResponse(e) }
	if shown.Stored || slices.ContainsFunc(l.Effects, shows) {
		if err := r.noteRead(e.EventRef.String() + "/payload"); err != nil {
			return err
		}
	}
	desk.ConcealEvent(l, r.seen)
	rawPath := r.base + eventPart(e.EventRef, "/raw")
	if s.Whole() != nil {
		rawPath = ""
	}
	return r.render(http.StatusOK, "event", eventPage{
		view: r.view("events", string(e.EventID)), Event: l, TraceID: life.TraceOf(e), WhyNone: strings.TrimPrefix(life.WhyNone(e), ": "),
		Offers: subjectOfEvent(e).offers(desk.Events), RawPath: rawPath, Payload: shown, Headers: headersOf(e.Headers), Commands: commandsOfEvent(e),
	})
}

// explain adds to an event whether each current route matches it, and why. If the routes are
// unknown, it adds the reason.
func explain(r *request, l *life.Event) {
	switch current := r.currentRoutes(); {
	case current.Err != nil:
		l.NoRoutes = "the routes in the configuration have errors: run hooklatch check"
	case current.Table == nil:
		l.NoRoutes = "this process has no routes"
	default:
		l.Explain(r.Context(), current.Table)
	}
}

func commandsOfEvent(e *inbox.Event) []command {
	name := safetext.Operands(string(e.Source), string(e.EventID))
	list := []command{{"show", "Show this event", "hooklatch events show " + name}}
	if e.Body != nil && e.ErasedAt.IsZero() {
		list = append(list, command{"raw", "Print its exact bytes", "hooklatch events show --raw " + name})
	}
	for _, o := range subjectOfEvent(e).offers(desk.Events) {
		list = append(list, command{o.Name, o.Button, "hooklatch events " + o.Name + " " + name})
	}
	return list
}

func headersOf(headers map[string][]string) []header {
	var list []header
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		for _, value := range headers[name] {
			list = append(list, header{name, value})
		}
	}
	return list
}

// sendRaw sends an event's exact delivery bytes as a download. The bytes are untrusted, so browsers
// must not display them (I1).
func sendRaw(r *request) error {
	e, err := readEvent(r)
	if err != nil {
		return err
	}
	if e.Body == nil || !e.ErasedAt.IsZero() {
		return &problem{
			status: http.StatusGone, heading: "The body is no longer stored",
			text: "The body was deleted after its retention, or an operator or the source's settings erased it. The event's page says which.",
		}
	}
	if err := r.seen(e.Source).Whole(); err != nil {
		return err
	}
	if err := r.noteRead(e.EventRef.String() + "/raw"); err != nil {
		return err
	}
	writeBytes(r.w, string(e.Source)+"-"+string(e.EventID), e.Body)
	return nil
}

// writeBytes sends bytes that browsers must not display.
func writeBytes(w http.ResponseWriter, name string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	h.Set("Content-Disposition", `attachment; filename="`+strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '_'
	}, name)+`.bin"`)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}
