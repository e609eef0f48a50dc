package measure

import "strconv"

// Kind is the subject of a count: a source or a destination.
type Kind string

// The values of Kind.
const (
	OfSource      Kind = "source"
	OfDestination Kind = "destination"
)

// Unknown is the name under which requests for unknown sources are counted.
const Unknown = "_unknown"

// What is the name of a count.
type What string

// The counts, in addition to the counts of Refused, Retried, Secret and Timer.
const (
	Accepted    What = "accepted"     // events committed for the first time
	Duplicate   What = "duplicate"    // duplicate events
	First       What = "first"        // first attempts
	FirstFailed What = "first_failed" // failed first attempts
	Attempts    What = "attempts"     // attempts of effects and handlers, first and later ones
	Done        What = "done"         // attempts that ended as done
	Dispatched  What = "dispatched"   // events that matched a route or a handler
	Skipped     What = "skipped"      // events that matched no route and no handler
	Abandoned   What = "abandoned"    // attempts whose sender did not return
)

// Refused counts requests that got no 2xx, by reason, which must be one of a fixed set.
func Refused(reason string) What { return What(refusedPrefix + reason) }

const refusedPrefix = "refused:"

// Retried counts deliveries that their sender calls a retry, by the sender's reason, which must be
// one of a bounded set.
func Retried(reason string) What { return What("retry:" + reason) }

// Secret counts deliveries verified by the secret at a position in the configuration, from 1.
func Secret(position int) What { return What("secret:" + strconv.Itoa(position)) }

// bounds are the bounds of Timer, in seconds.
var bounds = [...]float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

// took returns the name of the count of durations up to bounds[i] and above the previous bound. The
// count after the last bound is for longer durations.
func took(i int) What {
	if i == len(bounds) {
		return "took:more"
	}
	return What("took:" + strconv.FormatFloat(bounds[i], 'f', -1, 64))
}
