package lookup

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// ofAddress finds the event, effect, run, refused delivery, source or destination to whose console
// page a URL leads. The text is the URL, with any host.
func ofAddress(ctx context.Context, l *Lookup, asked Asked) ([]Hit, error) {
	u, _ := url.Parse(asked.Text)
	if u == nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, nil
	}
	thing, rest := thingIn(u)
	if len(rest) == 0 {
		return nil, nil
	}
	of := func(text string) Asked { return Asked{Text: text} }
	switch thing {
	case desk.Events:
		if len(rest) < 2 {
			return nil, nil
		}
		ref := identity.EventRef{Source: identity.Source(rest[0]), EventID: identity.EventID(rest[1])}
		if rest[1] == "-" { // the query has an id that a path cannot contain
			ref.EventID = identity.EventID(safetext.Storable(u.Query().Get("id")))
		}
		return event(ctx, l, ref)
	case desk.Effects:
		return ofKey(ctx, l, of(rest[0]))
	case desk.Runs:
		return ofRun(ctx, l, of(rest[0]))
	case desk.Refused:
		return ofRefused(ctx, l, of(rest[0]))
	case desk.Sources:
		return named(thing, func(n Names) []string { return n.Sources })(ctx, l, of(rest[0]))
	case desk.Destinations:
		return named(thing, func(n Names) []string { return n.Destinations })(ctx, l, of(rest[0]))
	}
	return nil, nil
}

// thingIn returns the kind of thing in a path of the console, and the parts of the path after it.
func thingIn(u *url.URL) (thing desk.Thing, rest []string) {
	things := []desk.Thing{desk.Events, desk.Effects, desk.Runs, desk.Refused, desk.Sources, desk.Destinations}
	parts := strings.Split(u.EscapedPath(), "/")
	at := slices.IndexFunc(parts, func(part string) bool { return slices.Contains(things, desk.Thing(part)) })
	if at < 0 {
		return "", nil
	}
	for _, part := range parts[at+1:] {
		plain, err := url.PathUnescape(part)
		if err != nil || safetext.Storable(plain) != plain {
			return "", nil
		}
		rest = append(rest, plain)
	}
	return desk.Thing(parts[at]), rest
}
