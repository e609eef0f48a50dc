package route

import (
	"fmt"
	"slices"

	"cel.dev/cel-go/cel"

	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/internal/wildcard"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// Values of Route.Backfill.
const (
	BackfillRun  = "run"
	BackfillSkip = "skip"
	BackfillPark = "park"
)

// EverySource stands for all sources: in Route.From, among the sources of a worker, and for
// handlers.
const EverySource = "*"

// Route maps events to an effect at a destination. Its condition and keys are CEL expressions over
// event, body and headers; the fields of its request can also read current. The subject and the
// bodies of an email are Go templates.
type Route struct {
	// Name of the route. The name is part of the keys of the route's effects, so a new name creates
	// new effects. The rule for names is the same as for sources. Required.
	Name string `yaml:"name,omitempty"`
	// Source or sources of the events to match, or "*" for all. Required.
	From []string `yaml:"from,omitempty"`
	// Event types to match, with * for any text: invoice.*. Defaults to all.
	Types []string `yaml:"types,omitempty"`
	// CEL condition that an event must meet. Defaults to true.
	When string `yaml:"when,omitempty"`
	// Name of the destination. Required.
	To string `yaml:"to,omitempty"`
	// CEL expression that returns the effect's business key, a string or an int. A later event of
	// the source with the same key does not create another effect. Defaults to the id of the event.
	Key string `yaml:"key,omitempty"`
	// CEL expression that returns the ordering key, a string or an int. The route's effects with the
	// same key run one after another, in the order in which their events arrived. Defaults to no
	// order.
	OrderBy string `yaml:"order_by,omitempty"`
	// Handling of later effects if an effect in their order is parked. With block they wait until
	// an operator has retried or cancelled it; with skip they do not wait. Defaults to block.
	OnPark ledger.OnPark `yaml:"on_park,omitempty"`
	// CEL expression that returns the effect's object, a string or an int. An effect is left out
	// (cancelled) if the effect of a newer event of the same object is already done. latest_by also
	// keeps the order. Defaults to none: no effect is left out.
	LatestBy string `yaml:"latest_by,omitempty"`
	// Handling of an event that was fetched from its provider's list and may be days old. run
	// handles it like any other event, skip creates no effect of this route, and park leaves the
	// decision to an operator. Defaults to run.
	Backfill string `yaml:"backfill,omitempty"`
	// Reads the object's current state before the effect is rendered. Expressions and templates read
	// this state as current.
	Refetch *Refetch `yaml:"refetch,omitempty"`

	// Request, for a destination with http. Defaults to the event's own body, as received. At most
	// one of http, forward, message, email and sql is given.
	HTTP *HTTPRequest `yaml:"http,omitempty"`
	// Parts of the delivery to forward in addition to its body, for a destination with http or on a
	// message broker. Defaults to the content type and the time of receipt.
	Forward *Forward `yaml:"forward,omitempty"`
	// Message, for a destination on a message broker. Defaults to the event's own body, as received.
	Message *MessageRequest `yaml:"message,omitempty" json:"message,omitempty"` // omitted if nil, so that the Digest of routes without messages stays the same
	// Email, required for a destination with smtp.
	Email *EmailMessage `yaml:"email,omitempty"`
	// Statement, required for a destination with sql.
	SQL *SQLStatement `yaml:"sql,omitempty"`
}

// Error describes a fault in one field of a route.
type Error struct {
	Route      string
	Field      string // name in the configuration: when, http.headers.X-Id, email.subject, ...
	Expression string // text as given; may be empty
	Err        error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Expression == "" {
		return fmt.Sprintf("route %q: %s: %s", e.Route, e.Field, e.Err)
	}
	return fmt.Sprintf("route %q: %s: %s, in %q", e.Route, e.Field, e.Err, e.Expression)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// failFunc records an Error for a field of the route that is being compiled.
type failFunc func(field, expression string, err error)

// requestBuilder renders an effect's request. Its errors contain the field's name.
type requestBuilder interface {
	build(scope *eventScope) (ledger.Request, error)
}

// compiledRoute is a checked Route with its target.
type compiledRoute struct {
	Route

	when, key         *expression // nil if the field is empty
	orderBy, latestBy *expression // nil if the field is empty
	refetch           *refetch    // nil without a refetch
	request           requestBuilder
	target            Target
}

func compileRoute(envs expressionEnvs, r Route, targets []Target, fail failFunc) *compiledRoute {
	faults := option.FaultsOf("", r.Validate(kindsOf(targets)))
	for _, f := range faults {
		fail(f.Field, "", &option.Fault{Given: f.Given, Problem: f.Problem, Allowed: f.Allowed})
	}
	compiled := &compiledRoute{Route: r}
	compile := func(field, text string, want wanted) *expression {
		return compileField(envs.dispatch, field, text, want, fail)
	}
	compiled.when = compile("when", r.When, wantBool)
	compiled.key = compile("key", r.Key, wantKey)
	compiled.orderBy = compile("order_by", r.OrderBy, wantKey)
	compiled.latestBy = compile("latest_by", r.LatestBy, wantKey)

	at := slices.IndexFunc(targets, func(t Target) bool { return t.Name == r.To })
	unfit := slices.ContainsFunc(faults, func(f *option.Fault) bool { return slices.Contains(requestFields, f.Field) })
	if at < 0 || unfit {
		return compiled
	}
	compiled.target = targets[at]
	compiled.request = compileRequest(envs.render, r, compiled.target.Sender, fail)
	if r.Refetch != nil {
		compiled.refetch = compileRefetch(envs.dispatch, r, compiled.target.Sender, fail)
	}
	return compiled
}

// compileRequest compiles the route's request, which must fit the destination.
func compileRequest(env *cel.Env, r Route, to destination.Sender, fail failFunc) requestBuilder {
	switch {
	case r.HTTP != nil:
		return compileHTTP(env, r.HTTP, to, fail)
	case r.Message != nil:
		return compileMessage(env, r.Message, to, fail)
	case r.Email != nil:
		return compileEmail(env, r.Email, fail)
	case r.SQL != nil:
		return compileSQL(env, r.SQL, to, fail)
	default:
		return compileForward(r.Forward, to)
	}
}

// wants reports whether the route matches events with this source and type.
func (r *compiledRoute) wants(source, eventType string) bool {
	return r.fromSource(source) && r.ofType(eventType)
}

func (r *compiledRoute) fromSource(source string) bool {
	return slices.Contains(r.From, source) || slices.Contains(r.From, EverySource)
}

func (r *compiledRoute) ofType(eventType string) bool {
	return len(r.Types) == 0 || slices.ContainsFunc(r.Types, func(pattern string) bool {
		return wildcard.Match(pattern, eventType)
	})
}
