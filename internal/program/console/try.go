package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/program/routes"
	"github.com/hooklatch/hooklatch/internal/program/whatif"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/worker/route"
)

const (
	// maxTried is the maximum length of a typed route, in bytes.
	maxTried = 16 << 10
	// triedEvents is the maximum number of events of a source on which a route is tried.
	triedEvents = 1_000
	// triedFor is the maximum time for trying a route on these events. It leaves time to compile
	// the route.
	triedFor = 4 * time.Second
	// triedRest is the pause after each batch, as a multiple of the time that the batch took: see
	// whatif.Limits.
	triedRest = 1
)

// Trial is a route that a user typed, and the configured route of the same name.
type Trial struct {
	Name     string
	Replaces bool         // true if the configuration has a route with this name
	Old, New *route.Table // tables of the configured route, if any, and of the typed route
}

// RouteError is returned for a typed route that cannot be used. Each line is a problem with its
// position.
type RouteError struct{ Lines []string }

// Error implements error.
func (e *RouteError) Error() string { return strings.Join(e.Lines, "\n") }

// tryPage is the form for a route to try, and the result.
type tryPage struct {
	view

	Form    url.Values // values of the form's fields
	Sources []string
	Wrong   []string // problems with the form
	Trial   *Trial   // nil before a route was tried
	Report  *whatif.Report
	Most    int
}

func (p tryPage) data() (any, error) {
	if p.Wrong != nil {
		return nil, &problem{status: http.StatusUnprocessableEntity, heading: "This route cannot be tried", text: strings.Join(p.Wrong, "\n")}
	}
	return struct {
		Route    string `json:"route"`
		Replaces bool   `json:"replaces"`
		*whatif.Report
	}{p.Trial.Name, p.Trial.Replaces, p.Report}, nil
}

// askTry shows the form. The query may name a configured route, an event and a source.
func askTry(r *request) error {
	asked := r.URL.Query()
	form := url.Values{"event": {asked.Get("event")}, "source": {asked.Get("source")}}
	list := r.currentRoutes().List
	if at := slices.IndexFunc(list, func(one routes.Route) bool { return one.Name == asked.Get("route") }); at >= 0 {
		form.Set("route", list[at].Text)
		if from := list[at].From; form.Get("source") == "" && len(from) == 1 && from[0] != route.EverySource {
			form.Set("source", from[0])
		}
	}
	return r.showTry(http.StatusOK, tryPage{Form: form})
}

func (r *request) showTry(status int, p tryPage) error {
	p.view, p.Sources, p.Most = r.view("routes", "Try a route"), r.sourceNames(), triedEvents
	return r.render(status, "try", p)
}

// tryRoute plans stored events with a typed route and with the configured route of the same name,
// and shows the differences. It creates no effects and sends nothing.
func tryRoute(r *request) error {
	if err := r.ParseForm(); err != nil {
		return unreadableForm()
	}
	wrong := func(lines ...string) error {
		return r.showTry(http.StatusUnprocessableEntity, tryPage{Form: r.PostForm, Wrong: lines})
	}
	text := r.PostForm.Get("route")
	source, event, missing := triedOn(r.PostForm)
	switch {
	case r.opts.Try == nil:
		return wrong("This process has no configuration of routes.")
	case strings.TrimSpace(text) == "":
		return wrong("The route is empty: paste one as in the configuration.")
	case len(text) > maxTried:
		return wrong(fmt.Sprintf("The route has %d bytes; at most %d are allowed.", len(text), maxTried))
	case missing != "":
		return wrong(missing)
	}
	// The differences reveal as much as a search condition: with enough routes a user could learn
	// every value.
	if err := r.opts.Sight.RefuseSearch(r.person, find.Content{When: "true"}, source); err != nil {
		return err
	}
	trial, err := r.compileTrial(text)
	if refused, is := errors.AsType[*RouteError](err); is {
		return wrong(refused.Lines...)
	}
	if errors.Is(err, route.ErrCompileBusy) {
		return &problem{status: http.StatusServiceUnavailable, heading: "The route was not tried", text: sentence(err.Error()), cause: err}
	}
	if err != nil {
		return err
	}
	if err := r.noteRead(fmt.Sprintf("try: %s on %s", trial.Name, nameOf(source, event))); err != nil {
		return err
	}
	report, err := r.compareTrial(trial, source, event)
	if errors.Is(err, whatif.ErrGone) {
		return wrong(sentence(whatif.ErrGone.Error()))
	}
	if err != nil {
		return err
	}
	return r.showTry(http.StatusOK, tryPage{Form: r.PostForm, Trial: &trial, Report: report})
}

// triedOn returns the source and, if given, the event that a form names, or a sentence about a
// missing or invalid name.
func triedOn(form url.Values) (source identity.Source, event identity.EventRef, missing string) {
	name, id, _ := strings.Cut(strings.TrimSpace(form.Get("event")), "/")
	switch {
	case name != "" && (id == "" || !storable(name) || !storable(id)):
		return "", event, "The event must be SOURCE/EVENT_ID, such as stripe/evt_123."
	case name != "":
		return identity.Source(name), identity.EventRef{Source: identity.Source(name), EventID: identity.EventID(id)}, ""
	}
	if name = strings.TrimSpace(form.Get("source")); name == "" || !storable(name) {
		return "", event, "Name a source or an event."
	}
	return identity.Source(name), event, ""
}

func nameOf(source identity.Source, event identity.EventRef) string {
	if event != (identity.EventRef{}) {
		return event.String()
	}
	return string(source)
}

// compileTrial compiles a route. It first waits until no other typed text is being compiled.
// Errors: route.ErrCompileBusy, *RouteError, and the cause of a cancelled request.
func (r *request) compileTrial(text string) (trial Trial, err error) {
	type compiled struct {
		trial Trial
		err   error
	}
	done := make(chan compiled, 1)
	err = r.conditions.InTurn(r.Context(), func() {
		var c compiled
		defer func() {
			if v := recover(); v != nil { // a panic in CEL would crash the process
				c.err = &RouteError{Lines: []string{fmt.Sprintf("route: cannot be compiled: %v", v)}}
			}
			done <- c
		}()
		c.trial, c.err = r.opts.Try(text)
	})
	if err != nil {
		return Trial{}, err
	}
	c := <-done
	return c.trial, c.err
}

func (r *request) compareTrial(trial Trial, source identity.Source, event identity.EventRef) (*whatif.Report, error) {
	c := whatif.Comparison{Old: trial.Old, New: trial.New, Finder: r.finder, Inbox: r.inbox}
	if event != (identity.EventRef{}) {
		e, err := r.recall(event)
		if err != nil {
			return nil, err
		}
		return c.One(r.Context(), e)
	}
	if err := r.place.take(r.Context()); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), 2*triedFor)
	defer cancel()
	return c.Walk(ctx, find.Events{Source: source}, find.Beginning, whatif.Limits{Events: triedEvents, Time: triedFor, Rest: triedRest}, nil)
}
