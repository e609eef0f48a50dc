package scenario

import "fmt"

// Deployment is the part of a process's configuration that rolling deployments change. The zero
// value is the state at the start of a run.
type Deployment struct {
	// Number counts the deployments of a run.
	Number int
	// Late is true if workers have the source Late and its route. Gateways always have both.
	Late bool
	// Types lists the event types of the route from Moving to Deployed. If empty, the route does
	// not exist.
	Types []string
	// Named is the number of the deployment that added the route. The route's name contains it.
	Named int
}

const (
	// Late is the source that workers do not always have.
	Late = "late"
	// Moving is the source of the changing route.
	Moving = "orders"
	// Deployed is the destination of the changing route.
	Deployed = "deployed"
)

// AccountTypes returns the types of events about accounts.
func AccountTypes() []string { return []string{"account.updated", "account.closed"} }

// Route returns the name of the changing route, or "" if it does not exist.
func (d Deployment) Route() string {
	if len(d.Types) == 0 {
		return ""
	}
	return fmt.Sprintf("deployed-%d", d.Named)
}

// Mark returns the name of a source and a route that only this deployment has, or "" for the zero
// value. They make every configuration distinct, even from an earlier one with the same routes.
// Processes announce their sources: the name shows which of them have this deployment.
func (d Deployment) Mark() string {
	if d.Number == 0 {
		return ""
	}
	return fmt.Sprintf("deployment-%d", d.Number)
}

// Change is the kind of change that a deployment makes.
type Change string

// Values of Change.
const (
	SourceAdded   Change = "source added"
	RouteAdded    Change = "route added"
	TypesWidened  Change = "types widened"
	RouteRemoved  Change = "route removed"
	SourceRemoved Change = "source removed"
)

// Changes returns all changes. Each can follow the previous one, and the first can follow the
// last.
func Changes() []Change {
	return []Change{SourceAdded, RouteAdded, TypesWidened, RouteRemoved, SourceRemoved}
}

// Next returns the deployment after d, with one change.
func (d Deployment) Next(change Change) Deployment {
	d.Number++
	switch change {
	case SourceAdded, SourceRemoved:
		d.Late = change == SourceAdded
	case RouteAdded:
		d.Types, d.Named = AccountTypes()[:1], d.Number
	case TypesWidened:
		d.Types = AccountTypes()
	case RouteRemoved:
		d.Types = nil
	}
	return d
}

// Last returns the last deployment of a run, which follows d. With it, workers can dispatch every
// event.
func (d Deployment) Last() Deployment {
	d.Number++
	d.Late = true
	return d
}
