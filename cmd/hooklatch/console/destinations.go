package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/plainjson"
)

var destinationOrders = []order{
	{
		Name: "pause", Button: "Pause", Done: "Paused and recorded.",
		Means: "No attempt starts in any process until it is resumed. Attempts that run go on to their end. Its effects wait meanwhile, and use up no attempts.",
		do: func(c *Console, ctx context.Context, name string, by ledger.Operator) error {
			return c.opts.Outbox.Fleet().SetPaused(ctx, name, true, by)
		},
	},
	{
		Name: "resume", Button: "Resume", Done: "Resumed and recorded.",
		Means: "Its effects go out again. If its breaker is open, they still wait until a probe succeeds.",
		do: func(c *Console, ctx context.Context, name string, by ledger.Operator) error {
			return c.opts.Outbox.Fleet().SetPaused(ctx, name, false, by)
		},
	},
}

// shownDestination is one with what the fleet knows of it.
type shownDestination struct {
	fleet.DestinationState
	fleet.Unsuccessful

	Target string
}

// State is how it stands.
func (d shownDestination) State() state {
	switch {
	case d.OperatorPaused:
		return state{"circle-pause", "parked", "paused"}
	case d.DestinationState.Breaker != fleet.BreakerClosed:
		return state{"octagon-x", "failed", "breaker open"}
	case d.ServedBy == 0:
		return state{"circle-dashed", "waiting", "served by nobody"}
	}
	return state{"circle-check", "good", "active"}
}

// Order is what can be ordered now.
func (d shownDestination) Order() order {
	if d.OperatorPaused {
		return destinationOrders[1]
	}
	return destinationOrders[0]
}

// Path is where its page is, below the path of the console.
func (d shownDestination) Path() string { return destinationPath(d.Name) }

// data is what programs are shown of it.
func (d shownDestination) data() any {
	return plainjson.Joined{d.DestinationState, d.Unsuccessful, struct {
		Target string `json:"target,omitzero"`
	}{d.Target}}
}

func (c *Console) readDestinations(ctx context.Context) ([]shownDestination, error) {
	known, err := c.opts.Outbox.Fleet().Destinations(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := c.opts.Outbox.Fleet().Unsuccessful(ctx)
	if err != nil {
		return nil, err
	}
	targets := map[string]string{}
	if c.opts.Destinations != nil {
		for _, d := range c.opts.Destinations() {
			targets[d.Name] = d.Target
		}
	}
	list := make([]shownDestination, 0, len(known))
	for _, d := range known {
		list = append(list, shownDestination{d, counts[d.Name], targets[d.Name]})
	}
	return list, nil
}

type destinationsPage struct {
	view

	List []shownDestination
}

func (p destinationsPage) data() (any, error) {
	list := rows[any]{Rows: []any{}}
	for _, d := range p.List {
		list.Rows = append(list.Rows, d.data())
	}
	return list, nil
}

// destinations lists all that a worker ever registered.
func (c *Console) destinations(w http.ResponseWriter, r *http.Request) error {
	list, err := c.readDestinations(r.Context())
	if err != nil {
		return err
	}
	return c.render(w, http.StatusOK, "destinations", destinationsPage{c.view(r, "destinations", "Destinations"), list})
}

type destinationPage struct {
	view
	shownDestination

	Lists    []ledger.EffectState // of its effects
	Commands []command
}

func (p destinationPage) data() (any, error) { return p.shownDestination.data(), nil }

func noSuchDestination(name string) *problem {
	return &problem{
		status: http.StatusNotFound, heading: "There is no such destination",
		text: fmt.Sprintf("No worker has registered a destination %s: one does when it starts with it in its configuration.", name),
	}
}

func (c *Console) readDestination(r *http.Request) (shownDestination, error) {
	list, err := c.readDestinations(r.Context())
	if err != nil {
		return shownDestination{}, err
	}
	name := r.PathValue("name")
	at := slices.IndexFunc(list, func(d shownDestination) bool { return d.Name == name })
	if at < 0 {
		return shownDestination{}, noSuchDestination(name)
	}
	return list[at], nil
}

// destination shows one: whether its effects go out, and what holds them.
func (c *Console) destination(w http.ResponseWriter, r *http.Request) error {
	d, err := c.readDestination(r)
	if err != nil {
		return err
	}
	name := quoted(d.Name)
	return c.render(w, http.StatusOK, "destination", destinationPage{
		view: c.view(r, "destinations", d.Name), shownDestination: d,
		Lists: []ledger.EffectState{ledger.EffectPending, ledger.EffectInDoubt, ledger.EffectParked, ledger.EffectFailed, ledger.EffectDone},
		Commands: []command{
			{d.Order().Name, d.Order().Button + " it on a terminal", "hooklatch destinations " + d.Order().Name + " " + name},
			{"retry", "Retry what failed and what is parked", "hooklatch effects retry --destination " + name},
		},
	})
}

// destinationOrderOf is the order that a URL names.
func (c *Console) destinationOrderOf(r *http.Request) (asked, error) {
	at := slices.IndexFunc(destinationOrders, func(o order) bool { return o.Name == r.PathValue("action") })
	if at < 0 {
		return asked{}, c.nowhere(nil, r)
	}
	d, err := c.readDestination(r)
	o := destinationOrders[at]
	return asked{
		order: o, Heading: o.Button + " this destination?", Target: d.Name, Of: d.Name + ", " + d.State().Word, Back: d.Path(), noSuch: noSuchDestination,
	}, err
}

func (c *Console) askDestination(w http.ResponseWriter, r *http.Request) error {
	what, err := c.destinationOrderOf(r)
	if err != nil {
		return err
	}
	return c.ask(w, r, "destinations", what)
}

func (c *Console) orderDestination(w http.ResponseWriter, r *http.Request) error {
	what, err := c.destinationOrderOf(r)
	if err != nil {
		return err
	}
	return c.carryOut(w, r, "destinations", what)
}
