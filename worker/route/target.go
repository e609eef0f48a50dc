package route

import (
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// Target is a destination as routes see it.
type Target struct {
	Name string // what Route.To calls it
	// Queue and Policy are what its effects get.
	Queue  string
	Policy ledger.Policy
	// Sender is asked for its kind and, where it is one of the optional
	// interfaces of package destination, for the requests it takes. A plan sends
	// nothing.
	Sender destination.Sender
}

// kindsOf are the kinds of targets, by their names.
func kindsOf(targets []Target) map[string]string {
	kinds := make(map[string]string, len(targets))
	for _, t := range targets {
		kinds[t.Name] = t.Sender.Kind()
	}
	return kinds
}
