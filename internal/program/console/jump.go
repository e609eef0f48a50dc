package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// jump redirects to the page for a pasted text: an effect's key, an event's id, SOURCE/EVENT_ID, a
// source or destination name, or the URL of any console page.
func jump(r *request) error {
	asked := strings.TrimSpace(safetext.Storable(r.URL.Query().Get("q")))
	if u, err := url.Parse(asked); err == nil && u.Host != "" && strings.HasPrefix(u.Scheme, "http") {
		if at := strings.TrimPrefix(u.Path, r.base); strings.HasPrefix(at, "/events") || strings.HasPrefix(at, "/effects") {
			http.Redirect(r.w, r.Request, r.local(u.RequestURI()), http.StatusSeeOther)
			return nil
		}
	}
	to, err := lookUp(r, asked)
	if err != nil {
		return err
	}
	http.Redirect(r.w, r.Request, r.base+to, http.StatusSeeOther)
	return nil
}

// lookUp returns the path for a pasted text. Errors: *problem if nothing is found.
func lookUp(r *request, asked string) (string, error) {
	switch {
	case asked == "":
		return "/events", nil
	case strings.HasPrefix(asked, "hl_"):
		return effectPath(asked), nil
	}
	if source, id, named := strings.Cut(asked, "/"); named {
		ref := identity.EventRef{Source: identity.Source(source), EventID: identity.EventID(id)}
		if _, err := r.inbox.Event(r.Context(), ref); err == nil {
			return eventPath(ref), nil
		}
	}
	found, err := r.finder.Events(r.Context(), find.Events{ID: identity.EventID(asked)}, find.Beginning, rowsOnPage)
	if err != nil {
		return "", err
	}
	switch len(found.Rows) {
	case 1:
		return eventPath(found.Rows[0].EventRef), nil
	case 0:
	default:
		return "/events?" + url.Values{"id": {asked}}.Encode(), nil
	}
	if slices.Contains(r.sourceNames(), asked) {
		return sourcePath(asked), nil
	}
	if slices.Contains(r.destinationNames(), asked) {
		return destinationPath(asked), nil
	}
	return "", &problem{
		status: http.StatusNotFound, heading: "Nothing found",
		text: "Nothing matches as an effect key (hl_…), an event id, SOURCE/EVENT_ID, a source or a destination. To search payloads, use a condition in the list of events.",
	}
}
