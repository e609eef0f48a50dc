package app

import (
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/worker/route"
)

// tryRoute compiles a route that a user typed and, separately, the configured route of the same
// name. An error in the typed route is a *console.RouteError.
func tryRoute(cfg *config.Config, text string) (console.Trial, error) {
	typed, err := cfg.WithRoute(text)
	if err != nil {
		return console.Trial{}, routeError(err)
	}
	made, err := destinationsOf(cfg, noop.NewTracerProvider())
	if err != nil {
		return console.Trial{}, err
	}
	options := func(of *config.Config) route.Options {
		return route.Options{Routes: routesOf(of), Targets: made.targets(), MaxBody: cfg.MaxBodyOf, LeftToHandlers: leftToHandlers(cfg)}
	}
	trial := console.Trial{Name: typed.Routes[0].Name}
	next := options(typed)
	next.Typed = true
	if trial.New, err = route.Compile(next); err != nil {
		return console.Trial{}, routeError(routeProblems(typed, err))
	}
	configured := *cfg
	configured.Routes = slices.DeleteFunc(slices.Clone(cfg.Routes), func(r route.Route) bool { return r.Name != trial.Name })
	trial.Replaces = len(configured.Routes) > 0
	trial.Old, err = route.Compile(options(&configured))
	return trial, err
}

// routeError converts the problems of a typed route to a *console.RouteError.
func routeError(err error) error {
	return &console.RouteError{Lines: strings.Split(err.Error(), "\n")}
}
