package console

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// manyVerbs returns the verbs that a bulk run can apply to events, or to effects.
func manyVerbs(on desk.Thing) []desk.Verb {
	return slices.DeleteFunc(desk.Of(on), func(v desk.Verb) bool { return !v.Many() })
}

// runQuery returns the run that a URL describes, and the query of its filter. The URL has a list's
// query, with of=events or of=effects, and optionally action. Without action, the run uses the
// first verb for the kind of thing. Errors: *invalid, *desk.DeniedError, and errors of the
// database.
func runQuery(r *request) (o runs.Order, q query, err error) {
	values := r.URL.Query()
	of, name := values.Get("of"), values.Get("action")
	verbs := manyVerbs(desk.Thing(of))
	at := slices.IndexFunc(verbs, func(v desk.Verb) bool { return name == "" || v.Name == name })
	if at < 0 {
		return o, q, &invalid{"Run", of + " " + name, "use of=events with " + actionsOf(desk.Events) + ", or of=effects with " + actionsOf(desk.Effects)}
	}
	o.Action = verbs[at].Action
	if of == "events" {
		q = readQuery(eventFields(r), values)
		err = runOfEvents(r, q, &o)
	} else {
		q = readQuery(effectFields(r), values)
		err = runOfEffects(r, q, &o)
	}
	o.Most = r.maxRun()
	return o, q, err
}

// maxRun returns the maximum number of rows of a run for the caller's role; 0 for no limit.
func (r *request) maxRun() int64 {
	if r.person.Role.May(signin.Admin) {
		return 0
	}
	return r.opts.MaxRun
}

// actionsOf returns the bulk run verbs for events or effects in the form of a URL parameter, for an
// error message.
func actionsOf(on desk.Thing) string {
	var names []string
	for _, v := range manyVerbs(on) {
		names = append(names, v.Name)
	}
	last := len(names) - 1
	return "action=" + strings.Join(names[:last], ", ") + " or " + names[last]
}

func runOfEvents(r *request, q query, o *runs.Order) (err error) {
	if o.Events, err = eventFilter(r, q); err != nil {
		return err
	}
	if allowed := runs.StatesOfEvents(o.Action); o.Events.State != "" && !slices.Contains(allowed, o.Events.State) {
		return &invalid{"State", string(o.Events.State), "this action applies to events that are " + strings.Join(texts(allowed), ", ")}
	}
	if only := r.URL.Query().Get("route"); only != "" {
		if err := runOfRoute(r, only, o); err != nil {
			return err
		}
	}
	if last := r.URL.Query().Get("last"); last != "" {
		if o.Last, err = strconv.ParseInt(last, 10, 64); err != nil {
			return &invalid{"Last", last, "it must be the number of the last event to include"}
		}
	}
	return nil
}

// runOfRoute limits a replay to one route.
func runOfRoute(r *request, name string, o *runs.Order) error {
	switch only, err := r.routeNamed(name); {
	case err != nil:
		return err
	case !desk.By(o.Action).TakesRoute:
		return &invalid{"Route", name, "only a replay can be limited to one route"}
	case o.Events.State == inbox.Failed:
		return &invalid{"Route", name, "events whose dispatch failed are replayed for all routes: leave out the route or the state"}
	default:
		o.Route = only.Name
		desk.Narrow(o, only)
	}
	return nil
}

func runOfEffects(r *request, q query, o *runs.Order) (err error) {
	if event := q.Get("event"); event != "" {
		return &invalid{"Event", event, "a run cannot select the effects of one event: retry them one by one, or replay the event"}
	}
	if o.Effects, err = effectFilter(r, q); err != nil {
		return err
	}
	allowed := ledger.StatesFor(o.Action)
	switch asked := q.Get("state"); asked {
	case "": // cancelled effects stay cancelled, unless the filter sets that state
		o.Effects.States = slices.DeleteFunc(slices.Clone(allowed), func(state ledger.EffectState) bool { return state == ledger.EffectCancelled })
	case string(find.Attention):
		needed := o.Effects.States
		o.Effects.States = slices.DeleteFunc(slices.Clone(allowed), func(state ledger.EffectState) bool { return !slices.Contains(needed, state) })
	default:
		for _, state := range o.Effects.States {
			if !slices.Contains(allowed, state) {
				return &invalid{"State", asked, "this action applies to effects that are " + strings.Join(texts(allowed), ", ")}
			}
		}
	}
	if text := r.URL.Query().Get("as_of"); text != "" {
		if o.AsOf, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return &invalid{"As of", text, "it must be a time such as 2026-11-21T08:00:00.123456Z"}
		}
	}
	return nil
}

// fixedQuery returns the query of a run with absolute times, so that it selects the same rows
// later.
func fixedQuery(o runs.Order, q query) url.Values {
	v := desk.By(o.Action)
	values := url.Values{"of": {string(v.On)}, "action": {v.Name}}
	for _, g := range q.Given() {
		values.Set(g.Name, g.Value)
	}
	still := func(name string, at time.Time) {
		if !at.IsZero() {
			values.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	if o.OfEvents() {
		still("since", o.Events.Since)
		still("until", o.Events.Until)
		values.Set("last", strconv.FormatInt(o.Last, 10))
		if o.Route != "" {
			values.Set("route", o.Route)
		}
		return values
	}
	still("since", o.Effects.Since)
	still("until", o.Effects.Until)
	still("as_of", o.AsOf)
	return values
}

// commandOfRun returns the command for the same run, without --yes.
func commandOfRun(o runs.Order, q query) string {
	v := desk.By(o.Action)
	words := []string{"hooklatch", string(v.On), v.Name}
	for _, g := range q.Given() {
		if g.Name != "state" || g.Value != string(find.Attention) {
			words = append(words, g.words()...)
		}
	}
	if o.Route != "" {
		words = append(words, "--route", safetext.Shell(o.Route))
	}
	if !o.OfEvents() && len(o.Effects.States) > 0 && (q.Get("state") == "" || q.Get("state") == string(find.Attention)) {
		words = append(words, "--state", strings.Join(texts(o.Effects.States), ","))
	}
	return strings.Join(words, " ")
}

// moreThan is the number of rows above which the user must type the verb.
const moreThan = 1_000

// paceOf reads the number of changes per second from a form. 0 or an empty field means no limit.
func paceOf(form url.Values) (float64, error) {
	text := strings.TrimSpace(form.Get("pace"))
	if text == "" {
		return 0, nil
	}
	pace, err := strconv.ParseFloat(text, 64)
	if err != nil || !(pace >= 0 && pace <= 1_000_000) {
		return 0, &invalid{"Pace", text, "it must be a number of changes per second, at most 1000000; 0 means no limit"}
	}
	return pace, nil
}

// countsOf reads the counts so far from a link that continues a preview.
func countsOf(text string) (c runs.Counts) {
	parts := strings.Split(text, ".")
	for i, into := range []*int64{&c.Selected, &c.InDoubt, &c.Unrendered, &c.Unclear} {
		if i < len(parts) {
			n, _ := strconv.ParseInt(parts[i], 10, 64) // only the console writes the text, and the count is only shown
			*into = max(n, 0)
		}
	}
	return c
}

func countsText(c runs.Counts) string {
	var parts []string
	for _, n := range []int64{c.Selected, c.InDoubt, c.Unrendered, c.Unclear} {
		parts = append(parts, strconv.FormatInt(n, 10))
	}
	return strings.Join(parts, ".")
}

// nameOfRun returns a run's name, or its description if it has no name.
func nameOfRun(r runs.Run) string { return cmp.Or(r.Name, r.Words()) }
