package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// rowsOnPage is how many a list shows.
const rowsOnPage = 50

// listing is a page that lists what was asked for: as far as it looked, and how to go on.
type listing[Row any] struct {
	view
	find.Page[Row]

	What    string // the page
	Command string // that lists the same
	Query   query
	Wrong   *invalid // what was asked cannot be read; nothing was looked for
	Unclear string
}

// Older is the query of the page that goes on from here.
func (l listing[Row]) Older() string { return l.Query.Encode(l.Next) }

// manyLink leads to the order about all that a list shows.
type manyLink struct{ Path, Words string }

// Many are the orders about all that the list was asked for, of whoever may give them.
func (l listing[Row]) Many() (links []manyLink) {
	if l.Wrong != nil || len(l.Rows) == 0 || !l.May(signin.Operator) {
		return nil
	}
	for _, v := range manyVerbs(desk.Thing(l.What)) {
		if v.Action == ledger.ActionCancelEffect {
			continue
		}
		asked := url.Values{"of": {string(v.On)}, "action": {v.Name}}
		for _, g := range l.Query.Given() {
			asked.Set(g.Name, g.Value)
		}
		if possible(v.Action, l.Query) {
			links = append(links, manyLink{"/runs/new?" + asked.Encode(), v.Button + " these…"})
		}
	}
	return links
}

// possible tells whether a run can be about what a list was asked for.
func possible(action ledger.Action, q query) bool {
	if q.Get("event") != "" {
		return false
	}
	allowed := append(texts(ledger.StatesFor(action)), texts(runs.StatesOfEvents(action))...)
	state := q.Get("state")
	if len(allowed) == 1 { // only those that wait for it
		return state == allowed[0]
	}
	return state == "" || state == string(find.Attention) || slices.Contains(allowed, state)
}

// Newest is the query of the same list from its beginning.
func (l listing[Row]) Newest() string { return l.Query.Encode(find.Beginning) }

// Commands list the same on a terminal.
func (l listing[Row]) Commands() []command {
	return []command{{"list", "The same list", l.Query.commandOf(l.Command)}}
}

// list looks and renders; ask asks for what the query says.
func list[Row any](r *request, shown listing[Row], ask func(context.Context) (find.Page[Row], error)) error {
	found, err := ask(r.Context())
	err = unreadable(err)
	status := http.StatusOK
	switch wrong, is := errors.AsType[*invalid](err); {
	case is:
		shown.Wrong, status = wrong, http.StatusBadRequest
	case err != nil:
		return err
	}
	shown.Page = found
	if found.WhyUnclear != nil {
		shown.Unclear = found.WhyUnclear.Error()
	}
	return r.render(status, shown.What, shown)
}

// cursor refuses a place that is none of the list.
func (q query) cursorError(err error) error {
	if err != nil && q.Cursor != find.Beginning && errors.Is(err, find.ErrCursor) {
		return &invalid{"Place", string(q.Cursor), "it is not a position in this list: start with the newest"}
	}
	return err
}
