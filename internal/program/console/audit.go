package console

import (
	"context"
	"strings"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// listActions lists operator actions, newest first.
func listActions(r *request) error {
	q := readQuery(fieldsOf[find.Actions](nil), r.URL.Query())
	shown := listing[ledger.OperatorAction]{view: r.view("audit", "Audit"), What: "audit", Command: "audit", Query: q}
	return list(r, shown, func(ctx context.Context, rows int) (find.Page[ledger.OperatorAction], error) {
		filter, err := filterOf[find.Actions](q, r.opts.Now())
		if err != nil {
			return find.Page[ledger.OperatorAction]{}, err
		}
		page, err := r.finder.Actions(ctx, filter, q.Cursor, rows)
		return page, q.cursorError(err)
	})
}

// targetPath returns the path of the page for an action's target, relative to the console's path.
// For an action that started or concerned a bulk run, it is the path of the run. The path is "" if
// the target has no page.
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
