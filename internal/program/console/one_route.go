package console

import (
	"errors"
	"net/http"

	"github.com/hooklatch/hooklatch/internal/program/forecast"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/runs"
	"github.com/hooklatch/hooklatch/worker/route"
)

// routeNames returns the names of the current routes.
func (c *Console) routeNames() (names []string) {
	for _, one := range c.currentRoutes().List {
		names = append(names, one.Name)
	}
	return names
}

// routeNamed returns the route to which a replay is limited. If the routes are unknown, any name is
// accepted. The command line has the same rule. Errors: *invalid.
func (c *Console) routeNamed(name string) (route.Route, error) {
	table := c.currentRoutes().Table
	if table == nil && len(name) <= maxValue && storable(name) {
		return route.Route{Name: name}, nil
	}
	if table != nil {
		if only, there := table.Route(name); there {
			return only, nil
		}
	}
	return route.Route{}, &invalid{"Route", middle(name), "the configuration has no such route"}
}

// replayForecast describes what a replay under the old keys would change.
type replayForecast struct {
	Known  bool
	Routes []forecast.OfRoute // routes for which the replay changes something
}

// forecastOf predicts an event's replay.
func (r *request) forecastOf(e *inbox.Event) (*replayForecast, error) {
	var f replayForecast
	var err error
	f.Routes, f.Known, err = forecast.Replay{Outbox: r.opts.Outbox, Table: r.currentRoutes().Table}.ByRoute(r.Context(), e)
	return &f, err
}

// forecasts predicts, under the old keys, the replay of each event in a run's sample. It omits
// events whose replay cannot be predicted. If too many bodies are in memory, it omits the remaining
// events too.
func (r *request) forecasts(o runs.Order, sample []runs.Sampled) (map[identity.EventRef]forecast.Forecast, error) {
	all := map[identity.EventRef]forecast.Forecast{}
	replay := forecast.Replay{Outbox: r.opts.Outbox, Table: r.currentRoutes().Table, Route: o.Route}
	for _, s := range sample {
		e, err := r.recall(s.Event)
		if _, busy := errors.AsType[*busyError](err); busy {
			return all, nil // a run does not wait for pages
		}
		if gone, is := errors.AsType[*problem](err); is && gone.status == http.StatusNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		came, known, err := replay.OfEvent(r.Context(), e)
		if err != nil {
			return nil, err
		}
		if known {
			all[s.Event] = came
		}
	}
	return all, nil
}
