package console

import (
	"net/url"
	"strings"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// The following functions return page paths, relative to the console's path.

func effectPath(key string) string { return "/effects/" + url.PathEscape(key) }

func destinationPath(name string) string { return "/destinations/" + url.PathEscape(name) }

func routePath(name string) string { return "/routes/" + url.PathEscape(name) }

func sourcePath(name string) string { return "/sources/" + url.PathEscape(name) }

// eventPath returns the path of an event. An id that a path cannot contain goes into the query.
func eventPath(ref identity.EventRef) string { return eventPart(ref, "") }

// eventPart returns the path of a page below an event's page.
func eventPart(ref identity.EventRef, part string) string {
	source, id := url.PathEscape(string(ref.Source)), string(ref.EventID)
	if strings.ContainsAny(id, "/\\") || strings.Trim(id, ".") == "" || id == "-" || strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "/events/" + source + "/-" + part + "?" + url.Values{"id": {id}}.Encode()
	}
	return "/events/" + source + "/" + url.PathEscape(id) + part
}
