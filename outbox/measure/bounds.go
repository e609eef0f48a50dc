package measure

import "github.com/hooklatch/hooklatch/internal/rule"

const (
	// Most is how many unfinished effects, and how many undispatched events, are
	// counted: this many means as many or more. Destinations, and sources, share it.
	Most = 200_000
	// MostAwaited is the same for a page that a person waits for.
	MostAwaited = 50_000
	// least is what each of them has of it, however many there are.
	least = 1_000
	// MostAside is how many failed and how many parked effects of a destination are
	// counted, and how many events that wait for a person.
	MostAside = rule.MostAside
	// mostOrders is in how many orders of a destination it is looked for what is due.
	mostOrders = 1_000
)
