package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/console/pretty"
	"github.com/hooklatch/hooklatch/cmd/hooklatch/doctor"
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
	{
		Name: "probe", Button: "Probe now", Done: "Ordered and recorded: a worker probes it within ten seconds, if an effect is due.",
		Means: "Its oldest due effect is attempted although the breaker is open, with its own key and body. If the receiver answers, all others go out again; if not, they wait for the next probe.",
		do: func(c *Console, ctx context.Context, name string, by ledger.Operator) error {
			return c.opts.Outbox.Fleet().ProbeNow(ctx, name, by)
		},
	},
}

// The orders on destinations.
const (
	orderPause = iota
	orderResume
	orderProbe
)

// shownDestination is one with what the fleet knows of it.
type shownDestination struct {
	fleet.DestinationState
	fleet.Unsuccessful

	Of Destination // of the configuration. Empty: it is not in it.
}

// HowManyFailed is how many of its effects failed.
func (d shownDestination) HowManyFailed() string {
	return doctor.UpTo(d.Failed, d.Failed >= fleet.MostUnsuccessful)
}

// HowManyParked is how many of its effects are parked.
func (d shownDestination) HowManyParked() string {
	return doctor.UpTo(d.Parked, d.Parked >= fleet.MostUnsuccessful)
}

// State is how it stands.
func (d shownDestination) State() pretty.State {
	switch {
	case d.OperatorPaused:
		return pretty.State{Icon: "circle-pause", Class: "parked", Word: "paused"}
	case d.DestinationState.Breaker != fleet.BreakerClosed:
		return pretty.State{Icon: "octagon-x", Class: "failed", Word: "breaker open"}
	case d.ServedBy == 0:
		return pretty.State{Icon: "circle-dashed", Class: "waiting", Word: "served by nobody"}
	}
	return pretty.State{Icon: "circle-check", Class: "good", Word: "active"}
}

// Orders are what can be ordered now.
func (d shownDestination) Orders() []order {
	switch {
	case d.OperatorPaused:
		return []order{destinationOrders[orderResume]}
	case d.DestinationState.Breaker == fleet.BreakerOpen:
		return []order{destinationOrders[orderProbe], destinationOrders[orderPause]}
	}
	return []order{destinationOrders[orderPause]}
}

// Path is where its page is, below the path of the console.
func (d shownDestination) Path() string { return destinationPath(d.Name) }

// data is what programs are shown of it.
func (d shownDestination) data() any {
	return plainjson.Joined{d.DestinationState, d.Unsuccessful, struct {
		Target string `json:"target,omitzero"`
	}{d.Of.Target}}
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
	configured := map[string]Destination{}
	if c.opts.Destinations != nil {
		for _, d := range c.opts.Destinations() {
			configured[d.Name] = d
		}
	}
	list := make([]shownDestination, 0, len(known))
	for _, d := range known {
		list = append(list, shownDestination{d, counts[d.Name], configured[d.Name]})
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
