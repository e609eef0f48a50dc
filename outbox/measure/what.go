package measure

import "strconv"

// Kind says whose count it is.
type Kind string

// The kinds.
const (
	OfSource      Kind = "source"
	OfDestination Kind = "destination"
)

// Unknown is the name under which requests for sources that we do not have are counted.
const Unknown = "_unknown"

// What is what is counted.
type What string

// What is counted, beside what Refused, Retried and Secret make, and a Timer counts.
const (
	Accepted    What = "accepted"     // events that were committed for the first time
	Duplicate   What = "duplicate"    // events that came again
	First       What = "first"        // first attempts
	FirstFailed What = "first_failed" // those that failed
	Attempts    What = "attempts"     // of effects and handlers, first and later ones
	Done        What = "done"         // those that ended as done
	Dispatched  What = "dispatched"   // events that a route or a handler wanted
	Skipped     What = "skipped"      // events that no route and no handler wanted
	Abandoned   What = "abandoned"    // those whose sender did not return
)

// Refused are requests that got no 2xx, by reason: one of a fixed set.
func Refused(reason string) What { return What(refusedPrefix + reason) }

const refusedPrefix = "refused:"

// Retried are deliveries that their sender calls a retry, by its reason: of a bounded
// set.
func Retried(reason string) What { return What("retry:" + reason) }

// Secret are deliveries that were proven by the secret at a place in the
// configuration, from 1.
func Secret(position int) What { return What("secret:" + strconv.Itoa(position)) }

// bounds are those of Timer, in seconds.
var bounds = [...]float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

// took are those that took at most as long as bounds[i], and longer than the bound
// before; behind the last one those that took longer than all.
func took(i int) What {
	if i == len(bounds) {
		return "took:more"
	}
	return What("took:" + strconv.FormatFloat(bounds[i], 'f', -1, 64))
}
