package console

import (
	"context"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

func eventFields(r *request) []field {
	return fieldsOf[find.Events](map[string][]string{"source": r.sourceNames()})
}

// listEvents lists events, newest first.
func listEvents(r *request) error {
	q := readQuery(eventFields(r), r.URL.Query())
	shown := listing[*inbox.Event]{view: r.view("events", "Events"), What: "events", Command: "events list", Query: q}
	return list(r, shown, func(ctx context.Context, rows int) (find.Page[*inbox.Event], error) {
		filter, err := eventFilter(r, q)
		if err != nil {
			return find.Page[*inbox.Event]{}, err
		}
		page, err := r.finder.Events(ctx, filter, q.Cursor, rows)
		return page, q.cursorError(err)
	})
}

// eventFilter returns the filter that a query describes. It returns an error if the query cannot be
// read, or if the caller may not search with it. Errors: *invalid, *desk.DeniedError, and errors of
// the database.
func eventFilter(r *request, q query) (find.Events, error) {
	asked, err := filterOf[find.Events](q, r.opts.Now())
	if err != nil {
		return asked, err
	}
	return asked, maySearch(r, asked.Content, asked.Source)
}
