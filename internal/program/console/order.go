package console

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// subject is an object that a URL names, such as an event or an effect, as the target of operator
// actions.
type subject struct {
	desk.Target

	State string // current state, which decides which verbs are possible
	This  string // the thing in the confirmation question; if empty, its kind: "this effect"
	Of    string // the thing's name and state, such as "evt_1, dispatched"
	Back  string // path of the thing's page
	// place returns a verb's path, relative to the console's path. If nil, the path is below Back.
	place func(verb string) string
	// effect is the target effect. It is nil if the target is not an effect.
	effect *ledger.Effect
	// event is the target event, with its body. It is nil if the target is not an event.
	event  *inbox.Event
	pace   float64 // pace of a run
	noSuch *problem
	// wrong returns the error for a verb that is not possible. If nil, the confirmation is shown
	// anyway.
	wrong func(desk.Verb) error
}

// offer is a currently possible verb, with the path of its confirmation page.
type offer struct {
	desk.Verb

	Path string
}

// at returns a verb's path, relative to the console's path.
func (s subject) at(verb string) string {
	if s.place != nil {
		return s.place(verb)
	}
	return s.Back + "/" + verb
}

// offers returns the currently possible verbs.
func (s subject) offers(of desk.Thing) (list []offer) {
	for _, v := range desk.Possible(of, s.State) {
		if s.has(v) {
			list = append(list, offer{v, s.at(v.Name)})
		}
	}
	return list
}

// has reports whether the thing still has the content that a verb needs.
func (s subject) has(v desk.Verb) bool {
	switch {
	case s.event != nil && v.Action == ledger.ActionReplayEvent:
		return s.event.Body != nil && s.event.ErasedAt.IsZero() && s.event.RedactedAt.IsZero()
	case s.effect != nil && v.TakesRequest:
		return s.effect.CheckResend() == nil
	case s.effect != nil && v.Action == ledger.ActionRetryEffect:
		return s.effect.ErasedAt.IsZero()
	}
	return true
}

// door describes the pages for operator actions on one kind of thing.
type door struct {
	on      desk.Thing
	page    string // pattern of the thing's page
	subject func(*request) (subject, error)
	// several reads the selected rows of a list. It is nil if no list of these things has rows to
	// select.
	several func(*request, []string) ([]selectedRow, error)
}

func doors() []door {
	return []door{
		{desk.Events, "/events/{source}/{id}", eventSubject, selectedEvents},
		{desk.Effects, "/effects/{key}", effectSubject, selectedEffects},
		{desk.Destinations, "/destinations/{name}", destinationSubject, nil},
		{desk.Sources, "/sources/{name}", sourceSubject, nil},
		{desk.Runs, "/runs/{id}", runSubject, nil},
	}
}

// asked is an operator action on one thing, before it is carried out.
type asked struct {
	desk.Verb

	Heading string
	Of      string // the thing's name and state, such as "evt_1, dispatched"
	Back    string // path of the thing's page
	Action  string // path of the action, relative to the console's path
	Pace    string // current pace, which can be changed; empty if the thing has none
	Doubt   string // why the operator must check the receiver first; empty if no check is needed
	// Replay describes what a replay would change, and Routes are the routes to which the replay
	// may be limited. Replay is nil for any other verb.
	Replay *replayForecast
	Routes []string
	// Request is the request to edit. It is nil if the verb takes none.
	Request *editable

	target desk.Target
	effect *ledger.Effect // with its body, if the verb takes a request
	event  *inbox.Event
	noSuch *problem
}

// asked returns the operator action in a URL. For a GET request, asked returns the error of
// subject.wrong if the action is not possible.
func (d door) asked(r *request) (asked, error) {
	v := desk.Named(d.on, r.PathValue("action"))
	if !v.Known() {
		return asked{}, nowhere(r)
	}
	if !r.person.Role.May(v.Role) {
		return asked{}, notAllowed(r.person, v.Role)
	}
	s, err := d.subject(r)
	if err != nil {
		return asked{}, err
	}
	what := asked{
		Verb: v, Heading: cmp.Or(v.Asks, v.Button) + " " + cmp.Or(s.This, "this "+d.on.One()) + "?", Of: s.Of, Back: s.Back,
		Action: s.at(v.Name), target: s.Target, event: s.event, noSuch: s.noSuch,
	}
	if v.TakesPace {
		what.Pace = strconv.FormatFloat(s.pace, 'f', -1, 64)
	}
	if v.Doubt != nil && s.effect != nil {
		if what.Doubt = v.Doubt(*s.effect); what.Doubt != "" {
			what.Button += " anyway"
		}
	}
	if v.TakesRequest && s.effect != nil {
		shown, whole, err := r.editing(*s.effect)
		if err != nil {
			return asked{}, err
		}
		what.Request, what.effect = shown, &whole
	}
	if s.wrong != nil && !v.PossibleIn(s.State) && r.Method == http.MethodGet { // for a POST, the action itself returns the reason
		return what, s.wrong(v)
	}
	return what, nil
}

// ask shows the confirmation page, which describes what the action would do. It changes nothing.
func (d door) ask(r *request) error {
	what, err := d.asked(r)
	if err != nil {
		return err
	}
	if what.TakesRoute {
		what.Routes = r.routeNames()
		if what.Replay, err = r.forecastOf(what.event); err != nil {
			return err
		}
	}
	return r.ask(string(d.on), what)
}

// order carries out a confirmed action.
func (d door) order(r *request) error {
	if err := r.ParseForm(); err != nil {
		return unreadableForm()
	}
	what, err := d.asked(r)
	if err != nil {
		return err
	}
	return r.carryOut(string(d.on), what)
}

type confirmPage struct {
	view
	asked

	Wrong  string // why the form was not accepted
	Reason string
	Once   string // id of the request, so that a form that is sent twice is carried out once
}

// data returns an error that gives a program the reason why its action was not carried out.
func (p confirmPage) data() (any, error) {
	return nil, &problem{status: http.StatusUnprocessableEntity, heading: p.Heading, text: p.Doubt + " " + p.Wrong}
}

// ask renders the confirmation.
func (r *request) ask(section string, what asked) error {
	return r.confirm(http.StatusOK, section, what, "", "")
}

func (r *request) confirm(status int, section string, what asked, reason, wrong string) error {
	return r.render(status, "confirm", confirmPage{
		view: r.view(section, what.Heading), asked: what, Reason: reason, Wrong: wrong, Once: uuid.NewString(),
	})
}

// carryOut carries out a confirmed action, records the operator in the same transaction, and
// redirects to the thing.
func (r *request) carryOut(section string, what asked) error {
	if err := r.ParseForm(); err != nil {
		return unreadableForm()
	}
	reason := strings.TrimSpace(r.PostForm.Get("reason"))
	if what.Doubt != "" && r.PostForm.Get("looked") == "" {
		return r.confirm(http.StatusUnprocessableEntity, section, what, reason, "Confirm that you have checked the receiver: this may apply the effect twice.")
	}
	terms := desk.Terms{NewKeys: what.TakesNewKeys && r.PostForm.Get("new_keys") != ""}
	if what.TakesPace {
		var err error
		if terms.Pace, err = paceOf(r.PostForm); err != nil {
			return err
		}
	}
	if name := r.PostForm.Get("route"); what.TakesRoute && name != "" {
		only, err := r.routeNamed(name)
		if err != nil {
			return err
		}
		terms.Route = only.Name
	}
	by := r.operator(reason)
	if what.effect != nil {
		var err error
		if terms.Request, err = r.resending(*what.effect); err != nil {
			if r.asData {
				return err
			}
			return r.confirm(http.StatusUnprocessableEntity, section, what, reason, sentence(err.Error()))
		}
		what.Back = effectPath(ledger.ResentKey(what.target.Name, by.RequestID))
	}
	if err := what.Do(r.Context(), r.opts.Outbox, what.target, terms, by); err != nil {
		if desk.NoSuch(err) {
			return what.noSuch
		}
		return err
	}
	r.seeOther(what.Back, what.Name)
	return nil
}

func unreadableForm() *problem {
	return &problem{status: http.StatusBadRequest, heading: "This form cannot be read", text: "Go back and submit it again."}
}

// doneOf returns the text about the action that was just completed. It contains no text from the
// URL.
func doneOf(name string) string {
	if name == "begun" {
		return "Run started and recorded. The run continues after you close this page."
	}
	if said := desk.SaidOf(name); said != "" {
		return said
	}
	if said := selectedDone(name); said != "" {
		return said
	}
	if accepted, refused, is := strings.Cut(name, "-"); is {
		var n, left int
		if _, err := fmt.Sscanf(accepted+" "+refused, "verified%d %d", &n, &left); err == nil {
			return fmt.Sprintf("Verified again: %d accepted, %d still refused. The action is recorded.", n, left)
		}
	}
	return ""
}
