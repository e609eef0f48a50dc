package measure

import "github.com/hooklatch/hooklatch/internal/rule"

const (
	// Most limits the count of unfinished effects, and of undispatched events: a count of Most
	// means that many or more. All destinations, or all sources, share the limit.
	Most = 200_000
	// MostAwaited is the same limit for a page that an operator is waiting for.
	MostAwaited = 50_000
	// least is the minimum share of each destination or source, even if the shares then exceed the
	// limit.
	least = 1_000
	// MostAside is the maximum count of a destination's failed effects, of its parked effects, and
	// of the events that need attention.
	MostAside = rule.MostAside
	// mostOrders is the maximum number of a destination's orders that are searched for due effects.
	mostOrders = 1_000
)
