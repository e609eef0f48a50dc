package console

import (
	"context"
	"net/http"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func (c *Console) effectFields() []field {
	return fieldsOf[find.Effects](map[string][]string{"destination": c.destinationNames(), "source": c.sourceNames()})
}

// effects lists them, the newest first.
func (c *Console) effects(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(c.effectFields(), r.URL.Query())
	shown := listing[ledger.Effect]{view: c.view(r, "effects", "Effects"), What: "effects", Command: "effects list", Query: q}
	return list(c, w, r, shown, func(ctx context.Context) (find.Page[ledger.Effect], error) {
		filter, err := c.effectFilter(r, q)
		if err != nil {
			return find.Page[ledger.Effect]{}, err
		}
		page, err := c.finder.Effects(ctx, filter, q.Cursor, rowsOnPage)
		answered := map[identity.Source]bool{}
		for i := range page.Rows {
			e := &page.Rows[i]
			c.seen(r, e.Event.Source).Conceal(e)
			if source := e.Event.Source; e.ResponseExcerpt != "" && !answered[source] {
				answered[source] = true
				if err := c.noteRead(r, "answers to effects of "+string(source)); err != nil {
					return page, err
				}
			}
		}
		return page, q.cursorError(err)
	})
}

// effectFilter is what a query asks of effects, if whoever asks may. Errors: *invalid and
// *problem.
func (c *Console) effectFilter(r *http.Request, q query) (find.Effects, error) {
	asked, err := filterOf[find.Effects](q, c.opts.Now())
	if err != nil {
		return asked, err
	}
	return asked, c.maySearch(r, asked.Content, asked.Source)
}
