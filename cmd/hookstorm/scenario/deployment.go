package scenario

import "fmt"

// Deployment is what a rolling deployment changes in the configuration of a process. The
// zero value is what a run begins with.
type Deployment struct {
	// Number counts the deployments of a run. Each has a configuration of its own, so
	// that one that looks like an earlier one is not taken for that.
	Number int
	// Late tells whether workers have the source Late and its route. Gateways always
	// have the source.
	Late bool
	// Types are those of the route from Moving to Deployed. None: there is no such route.
	Types []string
	// Named is the number of the deployment that added the route, which is in its name.
	Named int
}

const (
	// Late is the source that workers do not always have.
	Late = "late"
	// Moving is the source of the route that comes and goes.
	Moving = "orders"
	// Deployed is the destination of that route.
	Deployed = "deployed"
)

// AccountTypes are the types of events about accounts.
func AccountTypes() []string { return []string{"account.updated", "account.closed"} }

// Route is the name of the route that comes and goes. Empty: there is none.
func (d Deployment) Route() string {
	if len(d.Types) == 0 {
		return ""
	}
	return fmt.Sprintf("deployed-%d", d.Named)
}

// Change is what a deployment changes.
type Change string

// The changes.
const (
	SourceAdded   Change = "source added"
	RouteAdded    Change = "route added"
	TypesWidened  Change = "types widened"
	RouteRemoved  Change = "route removed"
	SourceRemoved Change = "source removed"
)

// Changes are all of them, in an order in which each can follow the one before, and the
// first the last.
func Changes() []Change {
	return []Change{SourceAdded, RouteAdded, TypesWidened, RouteRemoved, SourceRemoved}
}

// Next is the deployment after d, which changes one thing.
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

// Last is a deployment after which every event can be dispatched.
func (d Deployment) Last() Deployment {
	d.Number++
	d.Late = true
	return d
}
