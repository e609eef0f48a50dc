package app

import (
	"errors"
	"fmt"
	"strconv"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/worker/route"
)

// routesOf are the routes, with what they need to know of destinations and
// sources.
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

// headerFamilies are the headers that are a sender's own, by source.
func headerFamilies(cfg *config.Config) map[string][]string {
	families := make(map[string][]string, len(cfg.Sources))
	for name, s := range cfg.Sources {
		// A source whose provider cannot be made is a fault of its own.
		if p, err := s.Sender(); err == nil {
			families[name] = p.HeaderFamilies
		}
	}
	return families
}

// Routes are those of a configuration, compiled: what a worker would plan by.
func Routes(cfg *config.Config) (*route.Table, error) {
	made, err := destinationsOf(cfg, noop.NewTracerProvider())
	if err != nil {
		return nil, err
	}
	return route.Compile(route.Options{
		Routes: routesOf(cfg), Targets: made.targets(), ConfigHash: cfg.Hash(), MaxBody: cfg.MaxBodyOf, LeftToHandlers: leftToHandlers(cfg),
	})
}

// CheckConfig finds what the file alone does not tell: secrets no sender can
// use, certificates that cannot be used, expressions and templates that do not
// compile. Its error joins
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

// routeProblems gives every fault of a route its place in the file.
func routeProblems(cfg *config.Config, err error) error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error }) // an errors.Join, whose parts are wanted one by one
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
