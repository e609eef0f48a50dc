// Package logkey lists the keys in Hooklatch's logs: every attribute in a log line uses one of
// them. Durations are seconds, as a number with a fraction, and their keys end in the unit.
package logkey

// Keys and the meaning of their values.
const (
	Asked        = "asked"         // number of redeliveries requested from a provider
	Admin        = "admin"         // the admin listener's address
	Alert        = "alert"         // condition that needs attention
	Attempt      = "attempt"       // attempt number, from 1
	Batch        = "batch"         // number of members in one group commit
	Before       = "before"        // time before which everything has expired
	Bytes        = "bytes"         // size of the object in the message
	Cell         = "cell"          // a cell's name in the configuration
	Check        = "check"         // a check's name in the configuration
	Config       = "config"        // path of the configuration file
	ConfigHash   = "config_hash"   // configuration hash stored with events and effects
	Count        = "count"         // number of the objects in the message
	Destination  = "destination"   // a destination's name in the configuration
	Duration     = "duration_s"    // duration of the operation in the message
	EffectKey    = "effect_key"    // idempotency key on the wire
	Err          = "err"           // logged cause; the public message differs
	EventID      = "event_id"      // dedup key within the source
	EventType    = "event_type"    // the provider's name for the event
	FirstAttempt = "first_attempt" // true for the first try of a dispatch, handler or effect
	Gateway      = "gateway"       // the gateway's address
	Horizon      = "horizon"       // time before which earlier runs have deleted the data
	Invalid      = "invalid"       // number of listed items that yield no event
	JobID        = "job_id"        // id in river_job
	Kind         = "kind"          // job kind, or kind of the deleted data
	KnownServer  = "known_server"  // the confirmed server: its database has all completed work
	Late         = "late_s"        // time from the first delivery to the duplicate
	Limit        = "limit"         // limit of the resource in the message, in bytes
	Listed       = "listed"        // number of events in a provider's list
	Lost         = "lost"          // number of listed events that the backfill gave up on
	Missing      = "missing"       // number of listed events that were not stored
	Newest       = "newest"        // the newest missing event's time
	Oldest       = "oldest"        // the oldest missing event's time
	Recovered    = "recovered"     // number of events fetched, or redelivered on request
	Migration    = "migration"     // a migration's number and name
	Outcome      = "outcome"       // result, from a fixed set
	Path         = "path"          // path of a request or a file
	Pool         = "pool"          // a pool of connections to Postgres
	Provider     = "provider"      // provider slug
	Queue        = "queue"         // River queue
	Reason       = "reason"        // reason for a refusal, a pause or a warning
	RequestID    = "request_id"    // a page's request id, which the page shows too
	Person       = "person"        // operator who requested a page, if known
	Role         = "role"          // the operator's permissions
	Remote       = "remote"        // the peer's address
	Route        = "route"         // a route's name in the configuration
	SameAs       = "same_as"       // id of the event whose content a duplicate repeats
	Server       = "server"        // the database server's system identifier and timeline
	Source       = "source"        // a source's name in the configuration
	Stack        = "stack"         // stack of a panic
	Run          = "run"           // id of a bulk run or of a backfill pass
	State        = "state"         // state of an effect or a run
	Status       = "status"        // HTTP status, or status of an acceptance or an alert
	Subject      = "subject"       // the object of an alert: a source, a destination
	TraceID      = "trace_id"      // id of the trace that the line belongs to
	URL          = "url"           // URL without user, password and query
	Version      = "version"       // this program's version
	Way          = "way"           // the operator's sign-in method
)
