package console

import (
	"context"
	"net/http"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

func (c *Console) eventFields() []field {
	return fieldsOf[find.Events](map[string][]string{"source": c.sourceNames()})
}

// events lists them, the newest first.
func (c *Console) events(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(c.eventFields(), r.URL.Query())
	shown := listing[*inbox.Event]{view: c.view(r, "events", "Events"), What: "events", Command: "events list", Query: q}
	return list(c, w, r, shown, func(ctx context.Context) (find.Page[*inbox.Event], error) {
		filter, err := c.eventFilter(r, q)
		if err != nil {
			return find.Page[*inbox.Event]{}, err
		}
		page, err := c.finder.Events(ctx, filter, q.Cursor, rowsOnPage)
		return page, q.cursorError(err)
	})
}

// eventFilter is what a query asks of events, if whoever asks may. Errors: *invalid and
// *problem.
func (c *Console) eventFilter(r *http.Request, q query) (find.Events, error) {
	asked, err := filterOf[find.Events](q, c.opts.Now())
	if err != nil {
		return asked, err
	}
	return asked, c.maySearch(r, asked.Content, asked.Source)
}
