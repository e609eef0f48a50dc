package config

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/hooklatch/hooklatch/worker/route"
)

// forwardHeaders is what forward.headers may say.
var forwardHeaders = []string{route.ForwardNoHeaders, route.ForwardOriginalHeaders}

// AnySource stands for all sources in route.from.
const AnySource = "*"

func (c *Config) checkRoutes(d *decoder) {
	seen := map[string]int{}
	for i, r := range c.Routes {
		at := "routes[" + strconv.Itoa(i) + "]"
		if r.Name == "" {
			d.missingf(at, "name", "has no name")
		} else {
			d.name(at+".name", r.Name)
			if first, twice := seen[r.Name]; twice {
				d.reportf(at+".name", "%s is the name of two routes; the other is in line %d", d.show(at+".name", r.Name), d.origin.line("routes["+strconv.Itoa(first)+"].name"))
			} else {
				seen[r.Name] = i
			}
		}
		c.checkFrom(d, at, r)
		for j, t := range r.Types {
			path := d.element(at+".types", j)
			if t == "" || strings.ContainsFunc(t, unicode.IsSpace) {
				d.reportf(path, "%s is not an event type; allowed: text without white space, with * for any text", d.show(path, t))
			} else if regularExpression.MatchString(t) {
				d.reportf(path, "%s looks like a regular expression, which would match no type; allowed: text with * for any text%s", d.show(path, t), asGlob(t))
			}
		}
		r.checkOrder(d, at)
		c.checkTo(d, at, r)
	}
}

// regularExpression finds what no type of a sender has and regular expressions
// do: anchors, escapes, and ".*" that does not end a word. In "invoice.*" the
// dot is a dot.
var regularExpression = regexp.MustCompile(`^\^|\$$|\\|(^|[^A-Za-z0-9_])\.[*+]|[)\]][*+?]|\([^)]*\|`)

// asGlob says what was probably meant, where that is simple.
func asGlob(expression string) string {
	glob := strings.TrimSuffix(strings.TrimPrefix(expression, "^"), "$")
	glob = regexp.MustCompile(`(^|[^A-Za-z0-9_.\\])\.\*`).ReplaceAllString(glob, "$1*")
	glob = strings.ReplaceAll(strings.ReplaceAll(glob, `\..*`, ".*"), `\`, "")
	if glob == "" || strings.ContainsAny(glob, "()[]|+?^$") {
		return ""
	}
	return "; did you mean " + quote(glob) + "?"
}

func (c *Config) checkFrom(d *decoder, at string, r Route) {
	if len(r.From) == 0 {
		d.missingf(at, "from", `has no from; give the names of sources, or "*" for all`)
	}
	sources := slices.Sorted(maps.Keys(c.Sources))
	for i, from := range r.From {
		if from == AnySource || slices.Contains(sources, from) {
			continue
		}
		path := d.element(at+".from", i)
		if d.reported(path) {
			continue
		}
		d.reportf(path, "%s is not a source; %s", d.show(path, from), d.oneOf(path, from, append(sources, AnySource)))
	}
}

func (c *Config) checkTo(d *decoder, at string, r Route) {
	if r.To == "" {
		d.missingf(at, "to", "has no to; give the name of a destination")
		return
	}
	dest, ok := c.Destinations[r.To]
	if !ok {
		names := slices.Sorted(maps.Keys(c.Destinations))
		if len(names) == 0 {
			d.reportf(at+".to", "%s is not a destination; there are none", d.show(at+".to", r.To))
			return
		}
		d.reportf(at+".to", "%s is not a destination; %s", d.show(at+".to", r.To), d.oneOf(at+".to", r.To, names))
		return
	}
	for _, part := range []struct {
		field, kind string
		given       bool
	}{{"http", "http", r.HTTP != nil}, {"forward", "http", r.Forward != nil}, {"email", "smtp", r.Email != nil}, {"sql", "sql", r.SQL != nil}} {
		if kinds := dest.Kinds(); part.given && len(kinds) == 1 && kinds[0] != part.kind {
			d.reportf(at+"."+part.field, "does not fit destination %s, which is reached by %s", quote(r.To), kinds[0])
		}
	}
	switch {
	case dest.SMTP != nil && r.Email == nil:
		d.missingf(at, "email", "has no email; destination %s needs it to know what to write", quote(r.To))
	case dest.SQL != nil && r.SQL == nil:
		d.missingf(at, "sql", "has no sql; destination %s needs it to know what to run", quote(r.To))
	}
	if r.HTTP != nil && r.Forward != nil {
		d.reportf(at+".forward", "at most one of http and forward may be given")
	}
	if r.Email != nil {
		r.Email.check(d, at+".email")
	}
	if r.HTTP != nil {
		r.HTTP.check(d, at+".http")
	}
}

// checkOrder checks what a route says about the order of its effects.
func (r Route) checkOrder(d *decoder, at string) {
	if r.OnPark != "" {
		d.among(at+".on_park", "way to go on", string(r.OnPark), onParks)
	}
	if r.OrderBy != "" && r.LatestBy != "" {
		d.reportf(at+".latest_by", "at most one of order_by and latest_by may be given; latest_by keeps order too")
	}
	if r.OnPark != "" && r.OrderBy == "" && r.LatestBy == "" {
		d.reportf(at+".on_park", "%s means nothing without order_by or latest_by", d.show(at+".on_park", string(r.OnPark)))
	}
	if f := r.Refetch; f != nil {
		if f.URL == "" {
			d.missingf(at+".refetch", "url", "has no url")
		}
		if f.Auth != "" {
			d.among(at+".refetch.auth", "way to log in", f.Auth, []string{route.RefetchAuthDestination})
			if !f.Bearer.IsZero() {
				d.reportf(at+".refetch.auth", "at most one of auth and bearer may be given")
			}
		}
	}
	if f := r.Forward; f != nil && f.Headers != "" {
		d.among(at+".forward.headers", "choice of headers", f.Headers, forwardHeaders)
	}
}

func (e *RouteEmail) check(d *decoder, at string) {
	if e.Recipient == "" {
		d.missingf(at, "recipient", "has no recipient")
	}
	if e.Subject == "" {
		d.missingf(at, "subject", "has no subject")
	}
	if e.Text == "" && e.HTML == "" {
		d.missingf(at, "text", "has no body; give text, html or both")
	}
}

func (h *RouteHTTP) check(d *decoder, at string) {
	if h.Method != "" {
		d.among(at+".method", "method", h.Method, methods)
	}
	for header := range h.Headers {
		d.header(join(at+".headers", header), header)
	}
}
