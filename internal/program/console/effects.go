package console

import (
	"context"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func effectFields(r *request) []field {
	return fieldsOf[find.Effects](map[string][]string{"destination": r.destinationNames(), "source": r.sourceNames()})
}

// listEffects lists effects, newest first.
func listEffects(r *request) error {
	q := readQuery(effectFields(r), r.URL.Query())
	shown := listing[ledger.Effect]{view: r.view("effects", "Effects"), What: "effects", Command: "effects list", Query: q}
	return list(r, shown, func(ctx context.Context, rows int) (find.Page[ledger.Effect], error) {
		filter, err := effectFilter(r, q)
		if err != nil {
			return find.Page[ledger.Effect]{}, err
		}
		page, err := r.finder.Effects(ctx, filter, q.Cursor, rows)
		answered := map[identity.Source]bool{}
		for i := range page.Rows {
			e := &page.Rows[i]
			r.seen(e.Event.Source).Conceal(e)
			if source := e.Event.Source; e.ResponseExcerpt != "" && !answered[source] {
				answered[source] = true
				if err := r.noteRead("responses to effects of " + string(source)); err != nil {
					return page, err
				}
			}
		}
		return page, q.cursorError(err)
	})
}

// effectFilter returns the filter that a query describes. It returns an error if the query cannot
// be read, or if the caller may not search with it. Errors: *invalid, *desk.DeniedError, and errors
// of the database.
func effectFilter(r *request, q query) (find.Effects, error) {
	asked, err := filterOf[find.Effects](q, r.opts.Now())
	if err != nil {
		return asked, err
	}
	return asked, maySearch(r, asked.Content, asked.Source)
}
