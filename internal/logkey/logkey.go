// Package logkey lists the keys of our logs: every attribute of a line of Hooklatch has
// one of them. Lengths of time are seconds, as a
// number with a fraction, and the key ends in their unit.
package logkey

// The keys, by what they hold.
const (
	Asked        = "asked"         // redeliveries that a provider was asked for
	Admin        = "admin"         // address of the admin listener
	Alert        = "alert"         // condition that needs a person
	Attempt      = "attempt"       // number of an attempt, from 1
	Batch        = "batch"         // members of one group commit
	Before       = "before"        // when the time of what is older is over
	Bytes        = "bytes"         // size of what the message names
	Check        = "check"         // name of a check in the configuration
	Config       = "config"        // path of the configuration
	ConfigHash   = "config_hash"   // what events and effects remember of the configuration
	Count        = "count"         // how many of what the message names
	Destination  = "destination"   // name in the configuration
	Duration     = "duration_s"    // of what the message names
	EffectKey    = "effect_key"    // idempotency key on the wire
	Err          = "err"           // logged cause; the public message is another
	EventID      = "event_id"      // dedup key within the source
	EventType    = "event_type"    // the provider's name for what happened
	FirstAttempt = "first_attempt" // true for the first try of a dispatch, handler or effect
	Gateway      = "gateway"       // address of the gateway
	Horizon      = "horizon"       // everything older was deleted before
	Invalid      = "invalid"       // listed items of which no event can be made
	JobID        = "job_id"        // of river_job
	Kind         = "kind"          // of a job
	KnownServer  = "known_server"  // on which it is known what was done
	Late         = "late_s"        // how long after the first delivery a duplicate came
	Limit        = "limit"         // of what the message names, in bytes
	Listed       = "listed"        // events that the list of a provider showed
	Lost         = "lost"          // listed events that were given up
	Missing      = "missing"       // listed events that were not stored
	Newest       = "newest"        // when the newest of what was missing happened
	Oldest       = "oldest"        // when the oldest of what was missing happened
	Recovered    = "recovered"     // events that were fetched, or redelivered when asked for
	Migration    = "migration"     // number and name of a schema change
	Outcome      = "outcome"       // what came of it, from a fixed set
	Path         = "path"          // of a request, or of a file
	Provider     = "provider"      // slug of the sender's kind
	Queue        = "queue"         // River queue
	Reason       = "reason"        // why something was refused, from a fixed set
	RequestID    = "request_id"    // of a page, which shows it too
	Person       = "person"        // who asked for a page, as far as that is known
	Role         = "role"          // what a person may do
	Remote       = "remote"        // address of the peer
	Route        = "route"         // name in the configuration
	SameAs       = "same_as"       // id of the event whose content a duplicate repeats
	Server       = "server"        // system identifier and timeline of the database's server
	Source       = "source"        // name in the configuration
	Stack        = "stack"         // of a panic
	Run          = "run"           // an order about many
	State        = "state"         // of an effect, or of a run
	Status       = "status"        // HTTP status, or that of an acceptance
	Subject      = "subject"       // what an alert is about: a source, a destination
	TraceID      = "trace_id"      // of the trace the line belongs to
	URL          = "url"           // without user, password and query
	Version      = "version"       // of this program
	Way          = "way"           // how somebody signed in
)
