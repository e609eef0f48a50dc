package app

import (
	"errors"
	"fmt"
	"strconv"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/routes"
	"github.com/hooklatch/hooklatch/worker/route"
)

// routesOf returns the routes with the destination and source properties that they need.
func routesOf(cfg *config.Config) []route.Route {
	routes := make([]route.Route, 0, len(cfg.Routes))
	families := headerFamilies(cfg)
	for _, r := range cfg.Routes {
		if r.Refetch != nil {
			r.Refetch = new(*r.Refetch)
			r.Refetch.AllowPrivate = cfg.Destinations[r.To].AllowPrivate
		}
		if r.Forward != nil {
			r.Forward = new(*r.Forward)
			r.Forward.Families = families
		}
		routes = append(routes, r)
	}
	return routes
}

// headerFamilies returns patterns of the sender's own headers for each source.
func headerFamilies(cfg *config.Config) map[string][]string {
	families := make(map[string][]string, len(cfg.Sources))
	for name, s := range cfg.Sources {
		// A source with an invalid provider is reported elsewhere.
		if p, err := s.Sender(); err == nil {
			families[name] = p.HeaderFamilies
		}
	}
	return families
}

// Routes returns the routes of a configuration in the compiled form with which a worker dispatches.
func Routes(cfg *config.Config) (*route.Table, error) {
	made, err := destinationsOf(cfg, noop.NewTracerProvider())
	if err != nil {
		return nil, err
	}
	return route.Compile(route.Options{
		Routes: routesOf(cfg), Targets: made.targets(), ConfigHash: cfg.Hash(), MaxBody: cfg.MaxBodyOf, LeftToHandlers: leftToHandlers(cfg),
	})
}

// ShownRoutes returns the routes of a configuration for display, in the order of the file.
func ShownRoutes(cfg *config.Config) []routes.Route {
	list := make([]routes.Route, len(cfg.Routes))
	for i, r := range cfg.Routes {
		list[i] = routes.Route{
			Name: r.Name, From: r.From, Types: r.Types, When: r.When, Destination: r.To,
			Settings: shownSettings(cfg.RouteSettings(i)), Target: shownSettings(cfg.DestinationSettings(r.To)), Text: cfg.RouteText(i),
		}
	}
	return list
}

func shownSettings(settings []config.Setting) []routes.Setting {
	list := make([]routes.Setting, len(settings))
	for i, s := range settings {
		list[i] = routes.Setting(s)
	}
	return list
}

// CheckConfig finds errors that parsing the file cannot find: secrets that no sender can use,
// unusable certificates, expressions and templates that do not compile. Its error joins
// config.Problems.
func CheckConfig(cfg *config.Config) error {
	_, sourceErr := sourcesOf(cfg, nil)
	_, pairErr := KeyPairs(cfg)
	sourceErr = errors.Join(sourceErr, pairErr)
	made, err := destinationsOf(cfg, noop.NewTracerProvider())
	if err != nil {
		return errors.Join(sourceErr, err)
	}
	return errors.Join(sourceErr, routeProblems(cfg, route.Check(routesOf(cfg), made.targets())))
}

// routeProblems adds the position in the file to every route fault.
func routeProblems(cfg *config.Config, err error) error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error }) // an errors.Join, whose parts are reported separately
	if !ok {
		return routeProblem(cfg, err)
	}
	var problems []error
	for _, one := range joined.Unwrap() {
		problems = append(problems, routeProblem(cfg, one))
	}
	return errors.Join(problems...)
}

func routeProblem(cfg *config.Config, err error) error {
	fault, ok := errors.AsType[*route.Error](err)
	if !ok {
		return err
	}
	for i, r := range cfg.Routes {
		if r.Name != fault.Route {
			continue
		}
		message := fault.Err.Error()
		if fault.Expression != "" {
			message = fmt.Sprintf("%q: %s", fault.Expression, message)
		}
		return cfg.Problem("routes["+strconv.Itoa(i)+"]."+fault.Field, message)
	}
	return err
}
