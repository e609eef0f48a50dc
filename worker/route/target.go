package route

import (
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// Target is a destination in the form that routes need.
type Target struct {
	Name string // the name by which Route.To refers to the destination
	// Queue and Policy apply to the destination's effects.
	Queue  string
	Policy ledger.Policy
	// Sender is used for its kind, its FirstRequest, and the optional interfaces of package
	// destination that it implements. Package route never calls Send.
	Sender destination.Sender
}

// kindsOf returns the kinds of targets by name.
func kindsOf(targets []Target) map[string]string {
	kinds := make(map[string]string, len(targets))
	for _, t := range targets {
		kinds[t.Name] = t.Sender.Kind()
	}
	return kinds
}
