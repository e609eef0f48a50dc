// Package logkey lists the keys of Hooklatch's logs: every attribute of a log line uses
// one of them. Durations are seconds, as a number with a fraction, and their keys end in
// the unit.
package logkey

// The keys, with their values.
const (
	Asked        = "asked"         // redeliveries requested from a provider
	Admin        = "admin"         // address of the admin listener
	Alert        = "alert"         // condition that needs attention
	Attempt      = "attempt"       // number of an attempt, from 1
	Batch        = "batch"         // members of one group commit
	Before       = "before"        // time before which all has expired
	Bytes        = "bytes"         // size of the object in the message
	Check        = "check"         // name of a check in the configuration
	Config       = "config"        // path of the configuration
	ConfigHash   = "config_hash"   // configuration hash stored with events and effects
	Count        = "count"         // number of the objects in the message
	Destination  = "destination"   // name in the configuration
	Duration     = "duration_s"    // of the operation in the message
	EffectKey    = "effect_key"    // idempotency key on the wire
	Err          = "err"           // logged cause; the public message differs
	EventID      = "event_id"      // dedup key within the source
	EventType    = "event_type"    // the provider's name for the event
	FirstAttempt = "first_attempt" // whether it is the first try of a dispatch, handler or effect
	Gateway      = "gateway"       // address of the gateway
	Horizon      = "horizon"       // time up to which earlier runs have deleted
	Invalid      = "invalid"       // listed items that yield no event
	JobID        = "job_id"        // of river_job
	Kind         = "kind"          // of a job
	KnownServer  = "known_server"  // server whose completed work is known
	Late         = "late_s"        // time from the first delivery to the duplicate
	Limit        = "limit"         // of the resource in the message, in bytes
	Listed       = "listed"        // events in a provider's list
	Lost         = "lost"          // listed events that were given up
	Missing      = "missing"       // listed events that were not stored
	Newest       = "newest"        // time of the newest missing event
	Oldest       = "oldest"        // time of the oldest missing event
	Recovered    = "recovered"     // events that were fetched, or redelivered on request
	Migration    = "migration"     // number and name of a schema change
	Outcome      = "outcome"       // result, from a fixed set
	Path         = "path"          // of a request, or of a file
	Provider     = "provider"      // slug of the provider
	Queue        = "queue"         // River queue
	Reason       = "reason"        // why it was refused, from a fixed set
	RequestID    = "request_id"    // of a page, which shows it too
	Person       = "person"        // operator who requested a page, if known
	Role         = "role"          // the operator's permissions
	Remote       = "remote"        // address of the peer
	Route        = "route"         // name in the configuration
	SameAs       = "same_as"       // id of the event whose content a duplicate repeats
	Server       = "server"        // system identifier and timeline of the database's server
	Source       = "source"        // name in the configuration
	Stack        = "stack"         // of a panic
	Run          = "run"           // bulk run
	State        = "state"         // of an effect, or of a run
	Status       = "status"        // HTTP status, or that of an acceptance
	Subject      = "subject"       // the object of an alert: a source, a destination
	TraceID      = "trace_id"      // of the trace the line belongs to
	URL          = "url"           // without user, password and query
	Version      = "version"       // of this program
	Way          = "way"           // how the operator signed in
)
