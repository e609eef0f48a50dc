package console

import (
	"context"
	"errors"
	"net/http"

	"github.com/hooklatch/hooklatch/outbox/browse"
)

// rowsOnPage is how many a list shows.
const rowsOnPage = 50

// listing is a page that lists what was asked for: as far as it looked, and how to go on.
type listing[Row any] struct {
	view
	browse.Page[Row]

	What    string // the page
	Command string // that lists the same
	Query   query
	Wrong   *invalid // what was asked cannot be read; nothing was looked for
	Unclear string
}

// Older is the query of the page that goes on from here.
func (l listing[Row]) Older() string { return l.Query.Encode(l.Next) }

// Newest is the query of the same list from its beginning.
func (l listing[Row]) Newest() string { return l.Query.Encode(browse.Beginning) }

// Commands list the same on a terminal.
func (l listing[Row]) Commands() []command {
	return []command{{"list", "The same list", l.Query.commandOf(l.Command)}}
}

// list looks and renders; ask asks for what the query says.
func list[Row any](c *Console, w http.ResponseWriter, r *http.Request, shown listing[Row], ask func(context.Context) (browse.Page[Row], error)) error {
	found, err := ask(r.Context())
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
	return c.render(w, status, shown.What, shown)
}

// cursor refuses a place that is none of the list.
func (q query) cursorError(err error) error {
	if err != nil && q.Cursor != browse.Beginning && errors.Is(err, browse.ErrCursor) {
		return &invalid{"Place", string(q.Cursor), "it is no place in this list: begin with the newest"}
	}
	return err
}
