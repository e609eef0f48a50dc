package route

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// maxRouteName is the maximum length of a route name, which is part of effect keys.
const maxRouteName = 100

var routeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// requestFields are the fields that define a route's request.
var requestFields = []string{"http", "forward", "message", "email", "sql"}

// Validate checks a route except for expressions and templates, which Check compiles. kinds maps
// the names of destinations to their Sender.Kind, or to an empty string if the kind is unknown. The
// error is option.Faults.
func (r Route) Validate(kinds map[string]string) error {
	var c option.Check
	switch {
	case r.Name == "":
		c.Missing("name", "has no name")
	case len(r.Name) > maxRouteName || !routeName.MatchString(r.Name):
		c.Failf("name", r.Name, "is not a name; allowed: letters, digits, _, . and -, at most %d", maxRouteName)
	}
	if len(r.From) == 0 {
		c.Missing("from", `has no from; give the names of sources, or "*" for all`)
	}
	for i, source := range r.From {
		if source == "" {
			c.Failf(fmt.Sprintf("from[%d]", i), source, "is not a source")
		}
	}
	for i, t := range r.Types {
		checkType(&c, fmt.Sprintf("types[%d]", i), t)
	}
	r.checkOrder(&c)
	r.checkRequest(&c, kinds)
	c.Within("refetch", r.Refetch.validate(r))
	return c.Err()
}

// checkType rejects a pattern that can match no event type.
func checkType(c *option.Check, field, pattern string) {
	switch {
	case pattern == "" || strings.ContainsFunc(pattern, unicode.IsSpace):
		c.Failf(field, pattern, "is not an event type; allowed: text without white space, with * for any text")
	case regularExpression.MatchString(pattern):
		c.Failf(field, pattern, "looks like a regular expression, which would match no type; allowed: text with * for any text%s", asGlob(pattern))
	}
}

// regularExpression finds regular-expression syntax that no event type contains, such as anchors,
// escapes, and ".*" that does not follow a word. In "invoice.*" the dot stands for itself.
var regularExpression = regexp.MustCompile(`^\^|\$$|\\|(^|[^A-Za-z0-9_])\.[*+]|[)\]][*+?]|\([^)]*\|`)

// asGlob returns a hint with the pattern that was probably meant, or an empty string if that
// pattern is not simple.
func asGlob(expression string) string {
	glob := strings.TrimSuffix(strings.TrimPrefix(expression, "^"), "$")
	glob = regexp.MustCompile(`(^|[^A-Za-z0-9_.\\])\.\*`).ReplaceAllString(glob, "$1*")
	glob = strings.ReplaceAll(strings.ReplaceAll(glob, `\..*`, ".*"), `\`, "")
	if glob == "" || strings.ContainsAny(glob, "()[]|+?^$") {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", glob)
}

func (r Route) checkOrder(c *option.Check) {
	if r.OrderBy != "" && r.LatestBy != "" {
		c.Failf("latest_by", nil, "at most one of order_by and latest_by may be given; latest_by keeps order too")
	}
	if r.Backfill != "" {
		c.OneOf("backfill", "way to handle fetched events", r.Backfill, BackfillRun, BackfillSkip, BackfillPark)
	}
	if r.OnPark == "" {
		return
	}
	c.OneOf("on_park", "way to continue", string(r.OnPark), string(ledger.OnParkBlock), string(ledger.OnParkSkip))
	if r.OrderBy == "" && r.LatestBy == "" {
		c.Failf("on_park", string(r.OnPark), "has no effect without order_by or latest_by")
	}
}

// checkRequest checks the route's request, and whether its destination can send that request.
func (r Route) checkRequest(c *option.Check, kinds map[string]string) {
	kind, known := kinds[r.To]
	switch {
	case r.To == "":
		c.Missing("to", "has no to; give the name of a destination")
	case !known:
		c.OneOf("to", "destination", r.To, slices.Sorted(maps.Keys(kinds))...)
	}
	given := ""
	for _, one := range []struct {
		field    string
		kinds    []string
		set      bool
		required bool // true if a destination of these kinds needs the field
		validate func() error
	}{
		{"http", []string{destination.KindHTTP}, r.HTTP != nil, false, r.HTTP.validate},
		{"forward", append(destination.Brokers(), destination.KindHTTP), r.Forward != nil, false, r.Forward.validate},
		{"message", destination.Brokers(), r.Message != nil, false, r.Message.validate},
		{"email", []string{destination.KindEmail}, r.Email != nil, true, r.Email.validate},
		{"sql", []string{destination.KindSQL}, r.SQL != nil, true, r.SQL.validate},
	} {
		fits := slices.Contains(one.kinds, kind)
		if !one.set {
			if one.required && fits {
				c.Missing(one.field, fmt.Sprintf("has no %s; destination %q needs it to know what to send", one.field, r.To))
			}
			continue
		}
		switch {
		case kind != "" && !fits:
			c.Failf(one.field, nil, "does not fit destination %q, whose kind is %s", r.To, kind)
		case given != "":
			c.Failf(one.field, nil, "at most one of %s and %s may be given", given, one.field)
		default:
			given = one.field
		}
		c.Within(one.field, one.validate())
	}
}
