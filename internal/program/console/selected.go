package console

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/internal/noun"
	"github.com/hooklatch/hooklatch/internal/program/console/pretty"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// mostSelected is the maximum number of selected rows: a list contains at most two pages, because
// the script appends a page only while the list has fewer rows than a page.
const mostSelected = 2 * rowsOnPage

// Selectable returns the verbs that the caller may apply to selected rows of the list.
func (l listing[Row]) Selectable() []desk.Verb {
	if l.Live || l.Wrong != nil || !l.May(signin.Operator) {
		return nil
	}
	return slices.DeleteFunc(manyVerbs(desk.Thing(l.What)), func(v desk.Verb) bool { return !possibleIn(v, l.Query.Get("state")) })
}

// possibleIn reports whether a list with this state filter may have a row to which the verb
// applies.
func possibleIn(v desk.Verb, states string) bool {
	return states == "" || slices.ContainsFunc(strings.Split(states, ","), func(state string) bool {
		return state == string(find.Attention) || v.PossibleIn(state)
	})
}

// Listed returns the path and query of the list, to which the action returns.
func (l listing[Row]) Listed() string { return "/" + l.What + l.Query.Encode(l.Query.Cursor) }

// rowOf returns the value that selects an event or an effect in a form. The value is escaped,
// because a form would change line breaks.
func rowOf(thing any) string {
	if ref, is := thing.(identity.EventRef); is {
		return url.PathEscape(string(ref.Source)) + "/" + url.PathEscape(string(ref.EventID))
	}
	return url.PathEscape(fmt.Sprint(thing))
}

// selectedRow is a selected event or effect.
type selectedRow struct {
	subject

	Value  string // value in the form, as rowOf returns it
	Shown  pretty.State
	Doubt  string // why the operator must check the receiver first; empty if no check is needed
	Result string // result of the action; empty before it
	Done   bool
}

// selectedEvents reads selected events, and omits deleted ones.
func selectedEvents(r *request, values []string) ([]selectedRow, error) {
	refs := make([]identity.EventRef, 0, len(values))
	for _, value := range values {
		source, id, _ := strings.Cut(value, "/")
		source, sourceErr := url.PathUnescape(source)
		id, err := url.PathUnescape(id)
		if errors.Join(sourceErr, err) == nil && storable(source) && storable(id) {
			refs = append(refs, identity.EventRef{Source: identity.Source(source), EventID: identity.EventID(id)})
		}
	}
	events, err := r.inbox.EventsByRef(r.Context(), refs)
	if err != nil {
		return nil, err
	}
	var rows []selectedRow
	for _, ref := range refs {
		if e := events[ref]; e != nil {
			rows = append(rows, selectedRow{subject: subjectOfEvent(e), Value: rowOf(ref), Shown: pretty.StateOf(e.Outcome)})
		}
	}
	return rows, nil
}

// selectedEffects reads selected effects, and omits deleted ones.
func selectedEffects(r *request, values []string) ([]selectedRow, error) {
	var rows []selectedRow
	for _, value := range values {
		key, err := url.PathUnescape(value)
		if err != nil || !storable(key) {
			continue
		}
		e, err := r.ledger.Effect(r.Context(), key)
		if errors.Is(err, ledger.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, selectedRow{subject: subjectOfEffect(e), Value: rowOf(key), Shown: pretty.Effect(e.State)})
	}
	return rows, nil
}

// selectedPage asks for the confirmation of an action on selected rows, or shows its results.
type selectedPage struct {
	view

	Verb   desk.Verb
	Rows   []selectedRow // rows to which the action applies
	Left   []selectedRow // rows whose state does not allow the action
	Gone   int           // number of rows that no longer exist
	Ended  bool          // the action was carried out
	Why    string        // why the action stopped before the last row
	Doubts int           // number of rows for which the operator must check the receiver first
	Doubt  string        // why the operator must check the receiver, for the last of these rows
	From   string        // path and query of the list
	Reason string
	Once   string // id of the request, so that a form that is sent twice is carried out once
}

// Action returns the path that carries out the action, relative to the console's path.
func (p *selectedPage) Action() string { return "/" + string(p.Verb.On) + "/selected/" + p.Verb.Name }

// Heading returns the question or, after the action has been carried out, a title for its results.
func (p *selectedPage) Heading() string {
	if p.Ended {
		return p.Verb.Button + ": results"
	}
	return p.Verb.Button + " " + noun.Counted(len(p.Rows), p.Verb.On.One()) + "?"
}

// DoneRows returns the number of changed rows.
func (p *selectedPage) DoneRows() (n int) {
	for _, row := range p.Rows {
		if row.Done {
			n++
		}
	}
	return n
}

// selected returns the URL pattern of actions on selected rows.
func (d door) selected() string { return "/" + string(d.on) + "/selected/{action}" }

// orderSelected asks for the confirmation of an action on the selected rows of a list. If the form
// contains the confirmation, orderSelected carries out the action.
func (d door) orderSelected(r *request) error {
	v := desk.Named(d.on, r.PathValue("action"))
	if !v.Known() || !v.Many() {
		return nowhere(r)
	}
	if !r.person.Role.May(v.Role) {
		return notAllowed(r.person, v.Role)
	}
	if err := r.ParseForm(); err != nil {
		return unreadableForm()
	}
	values := slices.Compact(slices.Sorted(slices.Values(r.PostForm["row"])))
	switch {
	case len(values) == 0:
		return &problem{status: http.StatusBadRequest, heading: "No row is selected", text: "Go back, and select the rows to " + v.Name + "."}
	case len(values) > mostSelected:
		return &problem{
			status: http.StatusBadRequest, heading: "Too many rows are selected",
			text: fmt.Sprintf("The limit is %d rows. A bulk run applies an action to every match of a filter.", mostSelected),
		}
	}
	rows, err := d.several(r, values)
	if err != nil {
		return err
	}
	shown := selectedPage{Verb: v, Gone: len(values) - len(rows), From: r.local(cmp.Or(r.PostForm.Get("from"), "/"+string(d.on))), Reason: strings.TrimSpace(r.PostForm.Get("reason"))}
	for _, row := range rows {
		if !v.PossibleIn(row.State) {
			shown.Left = append(shown.Left, row)
			continue
		}
		if v.Doubt != nil && row.effect != nil {
			row.Doubt = v.Doubt(*row.effect)
		}
		if row.Doubt != "" {
			shown.Doubts++
			shown.Doubt = row.Doubt
		}
		shown.Rows = append(shown.Rows, row)
	}
	status := http.StatusOK
	if r.PostForm.Get("confirmed") != "" {
		if status = shown.carryOut(r); status == 0 {
			done := strings.Join([]string{string(d.on), v.Name, strconv.Itoa(len(shown.Rows))}, "-")
			r.seeOther(strings.TrimPrefix(shown.From, r.base), done)
			return nil
		}
	}
	shown.view = r.view(string(d.on), shown.Heading())
	shown.Once = uuid.NewString()
	shown.Here = shown.From // this page cannot be requested again
	return r.render(status, "selected", &shown)
}

// carryOut applies the action to one row after another, each in a transaction that records the
// operator. It returns the status of the page with the results, or 0 if every selected row was
// changed.
func (p *selectedPage) carryOut(r *request) int {
	p.Ended = true
	terms := desk.Terms{NewKeys: p.Verb.TakesNewKeys && r.PostForm.Get("new_keys") != ""}
	by := r.operator(p.Reason)
	for i := range p.Rows {
		row := &p.Rows[i]
		if row.Doubt != "" && r.PostForm.Get("looked") == "" {
			row.Result = "left unchanged: the effect may be applied twice, and the receiver was not checked"
			continue
		}
		err := p.Verb.Do(r.Context(), r.opts.Outbox, row.Target, terms, by)
		if err == nil {
			row.Done, row.Result = true, p.Verb.Past
			continue
		}
		told := row.noSuch
		if !desk.NoSuch(err) {
			told = r.tell(err)
		}
		row.Result = told.text
		if told.status >= http.StatusInternalServerError { // the other rows would fail too
			p.Why = told.heading
			return told.status
		}
	}
	switch n := p.DoneRows(); {
	case n == 0:
		return http.StatusConflict
	case n == len(p.Rows) && len(p.Left) == 0 && p.Gone == 0:
		return 0
	}
	return http.StatusOK
}

// selectedDone returns the text about an action on selected rows that was just completed, or "".
func selectedDone(name string) string {
	parts := strings.Split(name, "-")
	if len(parts) != 3 {
		return ""
	}
	v := desk.Named(desk.Thing(parts[0]), parts[1])
	n, err := strconv.Atoi(parts[2])
	if !v.Known() || err != nil || n < 1 || n > mostSelected {
		return ""
	}
	return noun.Counted(n, v.On.One()) + " " + v.Past + " and recorded."
}
