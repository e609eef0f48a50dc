package console

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/hooklatch/hooklatch/internal/program/routes"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/worker/route"
)

// Routes are the routes of one configuration.
type Routes struct {
	List  []routes.Route // routes with their settings, in the order of the configuration
	Table *route.Table   // the same routes, compiled; nil if Err is set
	Err   error          // why the routes cannot be compiled
}

// currentRoutes returns the routes of the loaded configuration, or none if Options.Routes is nil.
func (c *Console) currentRoutes() Routes {
	if c.opts.Routes == nil {
		return Routes{}
	}
	return c.opts.Routes()
}

// routeReader returns the reader for the states of routes.
func (r *request) routeReader() routes.Reader {
	return routes.Reader{Measure: r.opts.Measure, Finder: r.finder, Now: r.opts.Now}
}

type routesPage struct {
	view

	List []routes.State
}

func (p routesPage) data() (any, error) { return rows[routes.State]{orEmpty(p.List)}, nil }

// listRoutes lists the routes in the order of the configuration.
func listRoutes(r *request) error {
	list, err := r.routeReader().All(r.Context(), r.currentRoutes().List)
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "routes", routesPage{r.view("routes", "Routes"), list})
}

type routePage struct {
	view
	routes.State

	Commands []command
}

func (p routePage) data() (any, error) { return p.State, nil }

// Periods returns the counts of the last hour and of the last day.
func (p routePage) Periods() []period {
	return []period{{"Last hour", p.Hour}, {"Last day", p.Day}}
}

// period contains the counts of a route for one period.
type period struct {
	Name string
	routes.Counts
}

// showRoute shows one route: its settings, the counts of its effects, and its last error.
func showRoute(r *request) error {
	name := r.PathValue("name")
	list := r.currentRoutes().List
	at := slices.IndexFunc(list, func(one routes.Route) bool { return one.Name == name })
	if at < 0 {
		return &problem{
			status: http.StatusNotFound, heading: "Route not found",
			text: fmt.Sprintf("No route %s is in the configuration of this process.", name),
		}
	}
	state, err := r.routeReader().One(r.Context(), list[at])
	if err != nil {
		return err
	}
	quoted := safetext.Shell(name)
	return r.render(http.StatusOK, "route", routePage{view: r.view("routes", name), State: state, Commands: []command{
		{"show", "Show this route", "hooklatch routes show " + safetext.Operands(name)},
		{"retry", "Retry the failed and parked effects of this route", "hooklatch effects retry --state failed,parked --route " + quoted},
		{"replay", "Replay events of the last day with this route only", "hooklatch events replay --since 24h --route " + quoted},
	}})
}
