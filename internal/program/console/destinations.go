package console

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/hooklatch/hooklatch/internal/plainjson"
	"github.com/hooklatch/hooklatch/internal/program/console/pretty"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/outbox/fleet"
)

// shownDestination is a destination with its state in the fleet.
type shownDestination struct {
	fleet.DestinationState
	fleet.Unsuccessful

	Of Destination // from the configuration; empty if not configured
}

// HowManyFailed returns the number of the destination's failed effects, with a plus if there may be
// more.
func (d shownDestination) HowManyFailed() string {
	return doctor.UpTo(d.Failed, d.Failed >= fleet.MostUnsuccessful)
}

// HowManyParked returns the number of the destination's parked effects, with a plus if there may be
// more.
func (d shownDestination) HowManyParked() string {
	return doctor.UpTo(d.Parked, d.Parked >= fleet.MostUnsuccessful)
}

// State returns the destination's state, with icon and word.
func (d shownDestination) State() pretty.State {
	switch {
	case d.OperatorPaused:
		return pretty.State{Icon: "circle-pause", Class: "parked", Word: "paused"}
	case d.DestinationState.Breaker != fleet.BreakerClosed:
		return pretty.State{Icon: "octagon-x", Class: "failed", Word: "breaker open"}
	case d.ServedBy == 0:
		return pretty.State{Icon: "circle-dashed", Class: "waiting", Word: "not served"}
	}
	return pretty.State{Icon: "circle-check", Class: "good", Word: "active"}
}

// subject returns the destination as the subject of operator actions.
func (d shownDestination) subject() subject {
	state := desk.Active
	switch {
	case d.OperatorPaused:
		state = desk.Paused
	case d.DestinationState.Breaker != fleet.BreakerClosed:
		state = string(d.DestinationState.Breaker)
	}
	return subject{Target: desk.Target{Name: d.Name}, State: state, Of: d.Name + ", " + d.State().Word, Back: d.Path(), noSuch: noSuchDestination(d.Name)}
}

// Offers returns the currently possible verbs.
func (d shownDestination) Offers() []offer { return d.subject().offers(desk.Destinations) }

// Path returns the path of the destination's page, relative to the console's path.
func (d shownDestination) Path() string { return destinationPath(d.Name) }

// data returns the destination's JSON.
func (d shownDestination) data() any {
	return plainjson.Joined{d.DestinationState, d.Unsuccessful, struct {
		Target string `json:"target,omitzero"`
	}{d.Of.Target}}
}

func readDestinations(r *request) ([]shownDestination, error) {
	known, err := r.opts.Outbox.Fleet().Destinations(r.Context())
	if err != nil {
		return nil, err
	}
	counts, err := r.opts.Outbox.Fleet().Unsuccessful(r.Context())
	if err != nil {
		return nil, err
	}
	configured := map[string]Destination{}
	if r.opts.Destinations != nil {
		for _, d := range r.opts.Destinations() {
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

// listDestinations lists all destinations that workers have registered.
func listDestinations(r *request) error {
	list, err := readDestinations(r)
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "destinations", destinationsPage{r.view("destinations", "Destinations"), list})
}

func noSuchDestination(name string) *problem {
	return &problem{
		status: http.StatusNotFound, heading: "Destination not found",
		text: fmt.Sprintf("No worker has registered a destination %s. A worker registers the destinations in its configuration when it starts.", name),
	}
}

func readDestination(r *request) (shownDestination, error) {
	list, err := readDestinations(r)
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

// destinationSubject returns the destination in the URL as the subject of operator actions.
func destinationSubject(r *request) (subject, error) {
	d, err := readDestination(r)
	return d.subject(), err
}
