package measure

import "strconv"

// Kind is the subject of a count: a source, a destination or a route, or the timeline.
type Kind string

// The values of Kind.
const (
	OfSource      Kind = "source"
	OfDestination Kind = "destination"
	OfRoute       Kind = "route"
	// OfTimeline counts changes. The name is the subject of the change: see Change.
	OfTimeline Kind = "timeline"

	// The sums over all sources and over all destinations, without a name: see Tidy. Older programs
	// sum over the names of a kind, so the sums need separate kinds.
	ofAllSources      Kind = "sources"
	ofAllDestinations Kind = "destinations"
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
	Abandoned   What = "abandoned"    // attempts whose call did not return in time

	// Awaiting sums readings of the amount of waiting work: undispatched events of a source,
	// unfinished effects of a destination. Awaiting / sampled is the average amount.
	Awaiting What = "waiting"
)

// The counts of the timeline.
const (
	BreakerOpened What = "breaker_opened" // by destination
	BreakerClosed What = "breaker_closed" // by destination
	Started       What = "started"        // processes, by version
	Configured    What = "configured"     // processes that started with or reloaded a configuration, by its hash

	sampled What = "sampled" // readings of the amount of waiting work, without a name
)

// The counts of routes, in addition to Done. They count effects, not attempts.
const (
	Created    What = "created"    // effects that a route created
	Suppressed What = "suppressed" // effects that a route did not create, because an earlier event had the same key
	Unrendered What = "unrendered" // created effects that are parked because their request could not be rendered
	Failed     What = "failed"     // effects that failed permanently
	Parked     What = "parked"     // effects parked by an attempt
	Superseded What = "superseded" // effects cancelled because a newer effect of the same object was done
)

// Refused names the count of requests without a 2xx response, for one reason. The reason must be
// from a fixed set.
func Refused(reason string) What { return What(refusedPrefix + reason) }

const refusedPrefix = "refused:"

// Retried names the count of deliveries that their sender calls a retry, for one reason given by
// the sender. The reason must be from a bounded set.
func Retried(reason string) What { return What("retry:" + reason) }

// Secret names the count of deliveries verified by the secret with a mark: see secret.Value.Mark.
// The secret's position in the configuration changes with each rotation.
func Secret(mark string) What { return What("secret:" + mark) }

// bounds are the upper ends of the ranges in which a Timer counts durations, in seconds.
var bounds = [...]float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

// timed is the prefix of the names of a Timer's counts.
type timed string

const (
	allTook   timed = "took:"       // gateway responses of a source; all attempts at a destination
	firstTook timed = "first_took:" // first attempts
)

// within returns the name of the count of durations up to bounds[i] and above the previous bound.
// The count after the last bound is for longer durations.
func (t timed) within(i int) What {
	if i == len(bounds) {
		return What(t) + "more"
	}
	return What(string(t) + strconv.FormatFloat(bounds[i], 'f', -1, 64))
}
