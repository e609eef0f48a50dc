package route

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"

	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// Kinds of destinations that decide how a route renders.
const (
	kindHTTP  = "http"
	kindEmail = "email"
	kindSQL   = "sql"
)

// EverySource in Route.From, and in Handle, means all of them.
const EverySource = "*"

// maxRouteName bounds the name of a route: it is part of effect keys.
const maxRouteName = 100

var routeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// Route says which events lead to which effect at which destination.
type Route struct {
	Name string   // part of the keys of its effects; unique
	From []string // sources, or "*"
	// Types are event types, in which "*" stands for any run of characters.
	// Empty: all types.
	Types []string
	When  string // CEL bool; empty: always
	// Key is CEL, string or int: the business key. Two events of one source
	// with the same key have one effect. Empty: the event id.
	Key string
	To  string // name of the destination

	// OrderBy is CEL, string or int: effects of the route with the same value
	// start one after another, in the order their events were accepted. Empty:
	// in any order.
	OrderBy string
	// OnPark says what a parked effect does to the later ones of its OrderBy or
	// LatestBy. Empty: outbox.OnParkBlock.
	OnPark ledger.OnPark
	// LatestBy is CEL, string or int: of the events with the same value one
	// that happened before another whose effect was done has no effect any
	// more. It serialises them as OrderBy does. Empty: all have.
	LatestBy string
	// Refetch reads what HTTP, Email and SQL see as current. Nil: null.
	Refetch *Refetch

	// At most one of these. All nil forwards the event as it came.
	HTTP    *HTTPRequest  // for destinations of kind http
	Forward *Forward      // for destinations of kind http
	Email   *EmailMessage // for destinations of kind email, where it is required
	SQL     *SQLStatement // for destinations of kind sql, where it is required
}

// Error says what is wrong with one field of a route.
type Error struct {
	Route      string
	Field      string // as in the configuration: when, http.headers.X-Id, email.subject, ...
	Expression string // the text given; may be empty
	Err        error
}

func (e *Error) Error() string {
	if e.Expression == "" {
		return fmt.Sprintf("route %q: %s: %s", e.Route, e.Field, e.Err)
	}
	return fmt.Sprintf("route %q: %s: %s, in %q", e.Route, e.Field, e.Err, e.Expression)
}

func (e *Error) Unwrap() error { return e.Err }

// failFunc reports an Error.
type failFunc func(field, expression string, err error)

// requestBuilder renders what an effect sends. Its errors name the field.
type requestBuilder interface {
	build(scope *eventScope) (ledger.Request, error)
}

// compiledRoute is a Route that was checked, and where it leads.
type compiledRoute struct {
	Route

	when, key         *expression // nil when the field is empty
	orderBy, latestBy *expression // nil when the field is empty
	refetch           *refetch    // nil without one
	request           requestBuilder
	target            Target
}

func compileRoute(envs expressionEnvs, r Route, targets []Target, fail failFunc) *compiledRoute {
	compiled := &compiledRoute{Route: r}
	if len(r.Name) > maxRouteName || !routeName.MatchString(r.Name) {
		fail("name", "", fmt.Errorf("must be letters, digits, _, . and -, at most %d", maxRouteName))
	}
	if len(r.From) == 0 || slices.Contains(r.From, "") {
		fail("from", "", errors.New("must name a source, or be \"*\""))
	}
	if slices.Contains(r.Types, "") {
		fail("types", "", errors.New("must not be empty"))
	}
	compile := func(field, text string, want wanted) *expression {
		if text == "" {
			return nil
		}
		e, err := compileExpression(envs.dispatch, text, want)
		if err != nil {
			fail(field, text, err)
		}
		return e
	}
	compiled.when = compile("when", r.When, wantBool)
	compiled.key = compile("key", r.Key, wantKey)
	compiled.orderBy = compile("order_by", r.OrderBy, wantKey)
	compiled.latestBy = compile("latest_by", r.LatestBy, wantKey)
	if r.OrderBy != "" && r.LatestBy != "" {
		fail("latest_by", "", errors.New("and order_by exclude each other: latest_by is an order of its own"))
	}
	switch {
	case r.OnPark != "" && r.OnPark != ledger.OnParkBlock && r.OnPark != ledger.OnParkSkip:
		fail("on_park", "", fmt.Errorf("is %q, it must be %s or %s", r.OnPark, ledger.OnParkBlock, ledger.OnParkSkip))
	case r.OnPark != "" && r.OrderBy == "" && r.LatestBy == "":
		fail("on_park", "", errors.New("means nothing without order_by or latest_by"))
	}

	at := slices.IndexFunc(targets, func(t Target) bool { return t.Name == r.To })
	if at < 0 {
		fail("to", "", fmt.Errorf("names no destination: %q", r.To))
		return compiled
	}
	compiled.target = targets[at]
	compiled.request = compileRequest(envs.render, r, compiled.target.Sender, fail)
	if r.Refetch != nil {
		compiled.refetch = compileRefetch(envs.dispatch, r, compiled.target.Sender, fail)
	}
	return compiled
}

// compileRequest compiles what the route sends, which must fit the kind of its
// destination.
func compileRequest(env *cel.Env, r Route, to destination.Sender, fail failFunc) requestBuilder {
	kind := to.Kind()
	given, fits := "", true
	for _, one := range []struct {
		field string
		set   bool
		kind  string
	}{
		{"http", r.HTTP != nil, kindHTTP}, {"forward", r.Forward != nil, kindHTTP},
		{"email", r.Email != nil, kindEmail}, {"sql", r.SQL != nil, kindSQL},
	} {
		switch {
		case !one.set:
		case given != "":
			fail(given, "", fmt.Errorf("and %s exclude each other", one.field))
			return nil
		default:
			given, fits = one.field, one.kind == kind
		}
	}
	switch {
	case !fits:
		fail(given, "", fmt.Errorf("does not fit destination %q of kind %s", r.To, kind))
	case r.HTTP != nil:
		return compileHTTP(env, r.HTTP, to, fail)
	case r.Email != nil:
		return compileEmail(env, r.Email, fail)
	case r.SQL != nil:
		return compileSQL(env, r.SQL, to, fail)
	case kind == kindEmail || kind == kindSQL:
		fail(kind, "", fmt.Errorf("is required for destination %q of kind %s", r.To, kind))
	default:
		return compileForward(r.Forward, to, fail)
	}
	return nil
}

// wants tells whether the route is for events of this source and type.
func (r *compiledRoute) wants(source, eventType string) bool {
	if !slices.Contains(r.From, source) && !slices.Contains(r.From, EverySource) {
		return false
	}
	return len(r.Types) == 0 || slices.ContainsFunc(r.Types, func(pattern string) bool {
		return MatchType(pattern, eventType)
	})
}

// MatchType matches a type against a pattern in which "*" stands for any run
// of characters, also an empty one, and everything else for itself.
func MatchType(pattern, eventType string) bool {
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return pattern == eventType
	}
	if len(eventType) < len(first)+len(last) || !strings.HasPrefix(eventType, first) || !strings.HasSuffix(eventType, last) {
		return false
	}
	middle := eventType[len(first) : len(eventType)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(middle, part)
		if !found {
			return false
		}
		middle = after
	}
	return true
}
