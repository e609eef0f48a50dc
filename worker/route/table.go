package route

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// Options are one configuration of routes.
type Options struct {
	Routes []Route
	// Targets are the destinations to which routes may lead.
	Targets []Target
	// ConfigHash identifies the configuration of the routes.
	ConfigHash string
	// MaxBody returns the maximum number of payload bytes that expressions and templates may read
	// of a source's event; 0 means no limit. An effect that would read more is parked. If MaxBody
	// is nil, no source has a limit.
	MaxBody func(source string) int64
	// LeftToHandlers are the sources whose events are processed by programs with Go handlers, not
	// by routes of this configuration. Explain and LeavesToHandlers report these sources.
	LeftToHandlers []string
	// Typed is true for routes that a user types: their expressions must be shorter and less
	// nested, so that they take little time to compile. See Conditions.
	Typed bool
}

// Table is one compiled configuration of routes. It never changes and is safe for concurrent
// use.
type Table struct {
	routes     []*compiledRoute
	configHash string
	maxBody    func(source string) int64
	handled    []string      // see Options.LeftToHandlers
	timeout    time.Duration // limit for one evaluation; 0 for evalTimeout
}

// Compile compiles the routes, and checks everything that can be checked before an event arrives.
// Its error joins a *Error for each fault.
func Compile(o Options) (*Table, error) {
	envs, err := newExpressionEnvs()
	if err != nil {
		return nil, err
	}
	if o.Typed {
		if envs, err = envs.typed(); err != nil {
			return nil, err
		}
	}
	table := &Table{configHash: o.ConfigHash, maxBody: o.MaxBody, handled: o.LeftToHandlers}
	var errs []error
	seen := map[string]bool{}
	for _, r := range o.Routes {
		fail := func(field, expression string, err error) {
			if o.Typed && errors.Is(err, errTooDeep) {
				err = errTypedTooDeep
			}
			errs = append(errs, &Error{Route: r.Name, Field: field, Expression: expression, Err: err})
		}
		if seen[r.Name] {
			fail("name", "", errors.New("is given twice"))
		}
		seen[r.Name] = true
		compiled := compileRoute(envs, r, o.Targets, fail)
		if email, is := compiled.request.(*emailRequest); is && o.Typed && email.computesLayout {
			fail("email", "", errors.New("computes the layout of a time; write it as a literal text"))
		}
		table.routes = append(table.routes, compiled)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return table, nil
}

// Check reports faults of routes. It does not use the queues and policies of targets. Its error
// joins a *Error for each fault.
func Check(routes []Route, targets []Target) error {
	_, err := Compile(Options{Routes: routes, Targets: targets})
	return err
}

// ConfigHash returns Options.ConfigHash.
func (t *Table) ConfigHash() string { return t.configHash }

// Names returns the names of all routes, in the order of the configuration.
func (t *Table) Names() []string {
	names := make([]string, len(t.routes))
	for i, r := range t.routes {
		names[i] = r.Name
	}
	return names
}

// Route returns the route with the name, as configured. It returns false if there is none.
func (t *Table) Route(name string) (Route, bool) {
	if r := t.named(name); r != nil {
		return r.Route, true
	}
	return Route{}, false
}

// named returns the route with the name, or nil.
func (t *Table) named(name string) *compiledRoute {
	at := slices.IndexFunc(t.routes, func(r *compiledRoute) bool { return r.Name == name })
	if at < 0 {
		return nil
	}
	return t.routes[at]
}

// scope returns the event in the form that expressions read, with the table's limits.
func (t *Table) scope(ctx context.Context, e *inbox.Event) *eventScope {
	scope := newEventScope(ctx, e)
	scope.timeout, scope.maxBody = t.timeout, t.maxBody
	return scope
}

// failed prefixes an error with the route's name.
func (r *compiledRoute) failed(err error) error { return fmt.Errorf("route %q: %w", r.Name, err) }
