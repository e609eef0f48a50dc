package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// rowsOnPage is the number of rows on a list page, and the most that a caller can ask for.
const rowsOnPage = 50

// rowsAsked returns the number of rows for a list. A program may ask for fewer than a page has.
func (r *request) rowsAsked() (int, error) {
	text := r.URL.Query().Get("limit")
	if !r.asData || text == "" {
		return rowsOnPage, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > rowsOnPage {
		return 0, &invalid{"Limit", safetext.Line(text, maxValue/64), fmt.Sprintf("it must be a number from 1 to %d", rowsOnPage)}
	}
	return n, nil
}

// listing is one page of a list: its rows, and the position at which the next page begins.
type listing[Row any] struct {
	view
	find.Page[Row]

	What    string // name of the page
	Command string // command that prints the same list
	Query   query
	Wrong   *invalid // why the query cannot be read; if set, nothing was searched
	Unclear string
	// Live is true for the live page, which refreshes automatically unless Paused is true.
	Live, Paused bool
}

// Older returns the query for the next page.
func (l listing[Row]) Older() string { return l.Query.Encode(l.Next) }

// manyLink is a link to a bulk run over all rows that match a list's filter.
type manyLink struct{ Path, Words string }

// Many returns links to the bulk runs that the caller may start with the list's filter, except for
// runs that cancel effects.
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

// possible reports whether a bulk run can use a list's filter for an action.
func possible(action ledger.Action, q query) bool {
	if q.Get("event") != "" {
		return false
	}
	allowed := append(texts(ledger.StatesFor(action)), texts(runs.StatesOfEvents(action))...)
	state := q.Get("state")
	if len(allowed) == 1 { // the action applies to one state only
		return state == allowed[0]
	}
	return state == "" || state == string(find.Attention) || slices.Contains(allowed, state)
}

// Newest returns the query for the list's first page.
func (l listing[Row]) Newest() string { return l.Query.Encode(find.Beginning) }

// Commands returns the command that prints the same list.
func (l listing[Row]) Commands() []command {
	if l.Live {
		return []command{{"list", "The same events as they arrive", l.Query.commandOf(l.Command) + " --follow"}}
	}
	return []command{{"list", "The same list", l.Query.commandOf(l.Command)}}
}

// list renders a listing. The function ask runs the query and returns at most the given number of
// rows.
func list[Row any](r *request, shown listing[Row], ask func(ctx context.Context, rows int) (find.Page[Row], error)) error {
	shown.Query.Presets = presets(r, shown.Query)
	var found find.Page[Row]
	rows, err := r.rowsAsked()
	if err == nil {
		found, err = ask(r.Context(), rows)
	}
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

// cursorError converts an invalid-cursor error into *invalid, and returns any other error
// unchanged.
func (q query) cursorError(err error) error {
	if err != nil && q.Cursor != find.Beginning && errors.Is(err, find.ErrCursor) {
		return &invalid{"Place", string(q.Cursor), "not a position in this list; start with the newest"}
	}
	return err
}
