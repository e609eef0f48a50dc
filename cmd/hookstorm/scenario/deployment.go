package scenario

import "fmt"

// Deployment is the change of a rolling deployment to the configuration of a process. The
// zero value is the start of a run.
type Deployment struct {
	// Number counts the deployments of a run. Each has a configuration of its own, so that
	// one that looks like an earlier one is not mistaken for it.
	Number int
	// Late is true if workers have the source Late and its route. Gateways always have the
	// source.
	Late bool
	// Types are the types of the route from Moving to Deployed. Empty: no such route exists.
	Types []string
	// Named is the number of the deployment that added the route. It is in the route's name.
	Named int
}

const (
	// Late is the source that workers do not always have.
	Late = "late"
	// Moving is the source of the changing route.
	Moving = "orders"
	// Deployed is the destination of that route.
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

// Change is the change of a deployment.
type Change string

// The changes.
const (
	SourceAdded   Change = "source added"
	RouteAdded    Change = "route added"
	TypesWidened  Change = "types widened"
	RouteRemoved  Change = "route removed"
	SourceRemoved Change = "source removed"
)

// Changes returns all changes, in an order in which each can follow the one before, and the
// first can follow the last.
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

// Last returns a deployment after which every event can be dispatched.
func (d Deployment) Last() Deployment {
	d.Number++
	d.Late = true
	return d
}
