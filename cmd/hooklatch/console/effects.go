package console

import (
	"context"
	"net/http"
	"strings"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

var effectStates = []ledger.EffectState{
	ledger.EffectPending, ledger.EffectStarted, ledger.EffectInDoubt, ledger.EffectDone, ledger.EffectFailed, ledger.EffectParked, ledger.EffectCancelled,
}

// askedStates are what a list can be asked for: the first one is of those that may need a
// person.
func askedStates() []ledger.EffectState {
	return append([]ledger.EffectState{find.Attention}, effectStates...)
}

func (c *Console) effectFields() []field {
	return []field{
		{Name: "destination", Label: "Destination", Flag: "--destination", Options: c.destinationNames()},
		{Name: "state", Label: "State", Flag: "--state", Options: texts(askedStates())},
		{Name: "route", Label: "Route", Flag: "--route"},
		{Name: "source", Label: "Source of the event", Flag: "--source", Options: c.sourceNames()},
		{Name: "type", Label: "Type of the event", Flag: "--type", Hint: "invoice.*"},
		{Name: "event", Label: "Event", Flag: "--event", Hint: "stripe/evt_123"},
		{Name: "from", Label: "From", Flag: "--since", Hint: "-24h"},
		{Name: "to", Label: "To", Flag: "--until", Hint: "2026-11-21"},
		{Name: "when", Label: "Condition on the event", Flag: "--when", Hint: `body.data.object.customer == "cus_42"`, Wide: true},
	}
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
		page, err := c.browser.Effects(ctx, filter, q.Cursor, rowsOnPage)
		answered := map[identity.Source]bool{}
		for i := range page.Rows {
			e := &page.Rows[i]
			c.sightOf(r, e.Event.Source).conceal(e)
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
func (c *Console) effectFilter(r *http.Request, q query) (f find.EffectFilter, err error) {
	if err := c.refuseSearch(r, q.Get("when"), q.Get("source")); err != nil {
		return f, err
	}
	now := c.opts.Now()
	f = find.EffectFilter{
		Destination: q.Get("destination"), Route: q.Get("route"), Source: identity.Source(q.Get("source")), Type: q.Get("type"),
	}
	state, err := oneOf(q, "state", "State", askedStates())
	if err != nil {
		return f, err
	}
	f = f.InState(state)
	if event := q.Get("event"); event != "" {
		source, id, found := strings.Cut(event, "/")
		if !found || source == "" || id == "" {
			return f, &invalid{"Event", event, "an event is named SOURCE/EVENT_ID, like stripe/evt_123"}
		}
		f.Event = identity.EventRef{Source: identity.Source(source), EventID: identity.EventID(id)}
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
