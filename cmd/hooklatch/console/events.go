package console

import (
	"context"
	"net/http"
	"strings"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

var outcomes = []inbox.Outcome{inbox.Received, inbox.Dispatched, inbox.Skipped, inbox.Failed, inbox.Held, inbox.Dropped, inbox.Imported}

func (c *Console) eventFields() []field {
	return []field{
		{Name: "source", Label: "Source", Flag: "--source", Options: c.sourceNames()},
		{Name: "type", Label: "Type", Flag: "--type", Hint: "invoice.*"},
		{Name: "state", Label: "State", Flag: "--state", Options: texts(outcomes)},
		{Name: "has", Label: "Has", Flag: "--has", Options: find.Attributes},
		{Name: "id", Label: "Id", Flag: "--id"},
		{Name: "from", Label: "From", Flag: "--since", Hint: "-24h"},
		{Name: "to", Label: "To", Flag: "--until", Hint: "2026-11-21"},
		{Name: "when", Label: "Condition on the payload", Flag: "--when", Hint: `body.data.object.customer == "cus_42"`, Wide: true},
	}
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
		page, err := c.browser.Events(ctx, filter, q.Cursor, rowsOnPage)
		return page, q.cursorError(err)
	})
}

// eventFilter is what a query asks of events, if whoever asks may. Errors: *invalid and
// *problem.
func (c *Console) eventFilter(r *http.Request, q query) (f find.EventFilter, err error) {
	if err := c.refuseSearch(r, q.Get("when"), q.Get("source")); err != nil {
		return f, err
	}
	now := c.opts.Now()
	f = find.EventFilter{Source: identity.Source(q.Get("source")), Type: q.Get("type"), EventID: identity.EventID(q.Get("id"))}
	if f.Outcome, err = oneOf(q, "state", "State", outcomes); err != nil {
		return f, err
	}
	if has := q.Get("has"); has != "" {
		if f, err = f.Having(strings.Split(has, ",")); err != nil {
			return f, &invalid{"Has", has, "words are " + strings.Join(find.Attributes, ", ")}
		}
	}
	if f.Since, err = q.time("from", "From", now); err != nil {
		return f, err
	}
	if f.Until, err = q.time("to", "To", now); err != nil {
		return f, err
	}
	f.Match, err = c.match(r, q)
	return f, err
}
