package measure

import "github.com/hooklatch/hooklatch/internal/rule"

const (
	// Most is the most unfinished effects, and the most undispatched events, that are counted:
	// a count of that value means as many or more. All destinations, or all sources, share it.
	Most = 200_000
	// MostAwaited is the same limit for a page that an operator is waiting for.
	MostAwaited = 50_000
	// least is the minimum share of each destination or source, however many exist.
	least = 1_000
	// MostAside is the most failed and the most parked effects of a destination, and the most
	// events that need attention, that are counted.
	MostAside = rule.MostAside
	// mostOrders is the most orders of a destination that are searched for due effects.
	mostOrders = 1_000
)
