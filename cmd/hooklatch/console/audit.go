package console

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func (c *Console) auditFields() []field {
	return []field{
		{Name: "who", Label: "Who", Flag: "--who"},
		{Name: "action", Label: "Action", Flag: "--action", Hint: string(ledger.ActionRetryEffect)},
		{Name: "target", Label: "Target", Flag: "--target", Hint: "hl_… or stripe/evt_123"},
		{Name: "from", Label: "From", Flag: "--since", Hint: "-24h"},
		{Name: "to", Label: "To", Flag: "--until", Hint: "2026-11-21"},
	}
}

// audit lists what people ordered, the newest first.
func (c *Console) audit(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(c.auditFields(), r.URL.Query())
	shown := listing[ledger.OperatorAction]{view: c.view(r, "audit", "Audit"), What: "audit", Command: "audit", Query: q}
	return list(c, w, r, shown, func(ctx context.Context) (find.Page[ledger.OperatorAction], error) {
		filter, err := actionFilter(q, c.opts.Now())
		if err != nil {
			return find.Page[ledger.OperatorAction]{}, err
		}
		page, err := c.browser.Actions(ctx, filter, q.Cursor, rowsOnPage)
		return page, q.cursorError(err)
	})
}

// actionFilter is what a query asks of actions. Errors: *invalid.
func actionFilter(q query, now time.Time) (f find.ActionFilter, err error) {
	f = find.ActionFilter{Who: q.Get("who"), Action: ledger.Action(q.Get("action")), Target: q.Get("target")}
	if f.Since, err = q.time("from", "From", now); err != nil {
		return f, err
	}
	f.Until, err = q.time("to", "To", now)
	return f, err
}

// targetPath is where the thing is that something was ordered of, below the path of the
// console. Empty: it is a selection, or has no page.
func targetPath(a ledger.OperatorAction) string {
	if a.Run > 0 {
		return runPath(a.Run)
	}
	kind, _, _ := strings.Cut(string(a.Action), ".")
	switch kind {
	case "effect":
		if strings.HasPrefix(a.Target, "hl_") {
			return effectPath(a.Target)
		}
	case "event":
		if source, id, named := strings.Cut(a.Target, "/"); named && string(a.Filter) == "{}" {
			return eventPath(identity.EventRef{Source: identity.Source(source), EventID: identity.EventID(id)})
		}
	case "destination":
		return destinationPath(a.Target)
	case "backfill":
		return sourcePath(a.Target)
	}
	return ""
}
