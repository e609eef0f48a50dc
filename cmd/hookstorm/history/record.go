// Package history records a run of hookstorm: every operation as it began and as it
// ended, one JSON object in a line, so that anybody can check us with a program of their
// own.
package history

import "encoding/json"

// Kind says what a record tells of an operation.
type Kind string

// The kinds. Every Invoke is followed by at most one of OK, Fail and Unknown with
// the same Call; an operation without any is as one that ended Unknown.
const (
	Invoke  Kind = "invoke"  // it begins
	OK      Kind = "ok"      // it took effect
	Fail    Kind = "fail"    // it certainly took no effect
	Unknown Kind = "unknown" // it may have taken effect, now or later
	Note    Kind = "note"    // something that has no end: a process was started
	Row     Kind = "row"     // a row of the database at the end of the run
)

// Op names an operation.
type Op string

// The operations, and which member of Record describes them.
const (
	OpDeliver Op = "deliver" // a sender's delivery to a gateway: Delivery
	OpCall    Op = "call"    // an attempt of an effect, seen by its receiver: Call
	OpEnqueue Op = "enqueue" // the application's own effect: Enqueue
	OpOrder   Op = "order"   // what a person ordered: Order
	OpFault   Op = "fault"   // what the nemesis did: Fault
	OpProcess Op = "process" // a process of ours was started, or ended: Process
	OpDeploy  Op = "deploy"  // a rolling deployment, until a worker has its configuration: Deploy
	OpRun     Op = "run"     // what the whole run is: Run
	OpPhase   Op = "phase"   // the run goes on to another phase: Phase
	OpTable   Op = "table"   // a row of the snapshot: Table and Columns
)

// Record is one line of a history.
type Record struct {
	At   int64  `json:"t"`              // microseconds since the run began, on one monotonic clock
	Who  string `json:"who"`            // who did it: sender-3, receiver, operator, nemesis
	Kind Kind   `json:"kind"`           //
	Op   Op     `json:"op"`             //
	ID   int64  `json:"id,omitempty"`   // of the operation: an end has that of its Invoke
	Text string `json:"text,omitempty"` // for people: an error, a cause

	Delivery *Delivery `json:"delivery,omitempty"`
	Call     *Call     `json:"call,omitempty"`
	Enqueue  *Enqueue  `json:"enqueue,omitempty"`
	Order    *Order    `json:"order,omitempty"`
	Fault    *Fault    `json:"fault,omitempty"`
	Process  *Process  `json:"process,omitempty"`
	Deploy   *Deploy   `json:"deploy,omitempty"`
	Run      *Run      `json:"run,omitempty"`
	Phase    Phase     `json:"phase,omitempty"`

	Table   string          `json:"table,omitempty"`
	Columns json.RawMessage `json:"columns,omitempty"` // an object: bytes as hex, times in RFC 3339
}

// Delivery is one HTTP request of a sender. Its end repeats what its beginning
// said, and adds the answer.
type Delivery struct {
	Source   string   `json:"source"`
	Gateway  string   `json:"gateway"`            // which process was asked
	EventIDs []string `json:"event_ids"`          // in the order of the body
	Hash     string   `json:"hash"`               // SHA-256 of the body, hex
	Signed   bool     `json:"signed"`             // validly; false: it must be refused
	Listed   bool     `json:"listed,omitempty"`   // in the list of the sender: its events have to be fetched if no delivery brings them
	Group    string   `json:"group,omitempty"`    // what orders and latest_by go by
	Version  int64    `json:"version,omitempty"`  // of the object: larger is newer
	Attempt  int      `json:"attempt"`            // of the sender, from 1
	Status   int      `json:"status,omitempty"`   // HTTP status; 0: no answer
	Result   string   `json:"result,omitempty"`   // accepted or duplicate, as the answer says
	Deadline int64    `json:"deadline,omitempty"` // the sender's patience, microseconds
}

// Call is one request that a receiver got, whatever it did with it.
type Call struct {
	Destination string `json:"destination"`
	Key         string `json:"key"`              // idempotency key
	Hash        string `json:"hash"`             // SHA-256 of what it asks for: the body
	Behaviour   string `json:"behaviour"`        // what the receiver was told to do
	Applied     bool   `json:"applied"`          // this call was applied: the first with its key that was
	Known       bool   `json:"known,omitempty"`  // an earlier one with its key was applied
	Status      int    `json:"status,omitempty"` // of the answer; 0: none was given
}

// Enqueue is an effect that an application enqueues in a transaction of its own.
type Enqueue struct {
	Destination string `json:"destination"`
	Key         string `json:"key"`
	Hash        string `json:"hash"` // SHA-256 of the body, hex
	Rollback    bool   `json:"rollback,omitempty"`
	Via         string `json:"via"` // go, sql or sql_bytes
}

// Order is what a person ordered through the command line or the Go API.
type Order struct {
	Action      string `json:"action"` // replay, erase, retry, cancel, pause, resume
	Source      string `json:"source,omitempty"`
	EventID     string `json:"event_id,omitempty"`
	Key         string `json:"key,omitempty"` // idempotency key of the effect
	Destination string `json:"destination,omitempty"`
	NewKeys     bool   `json:"new_keys,omitempty"` // of a replay
	Affected    int64  `json:"affected,omitempty"`
	Generation  int    `json:"generation,omitempty"` // of the event, that a replay began; 0: not known
}

// Fault is something the nemesis did. OK: it fired, and has healed; Fail: it did not
// fire.
type Fault struct {
	Kind      string `json:"kind"`
	Target    string `json:"target,omitempty"`
	Detail    string `json:"detail,omitempty"`
	Simulated bool   `json:"simulated,omitempty"` // stands for a fault that cannot be made here
	InFlight  int    `json:"in_flight"`           // deliveries under way when it fired
	AckedLast int    `json:"acked_last"`          // deliveries acknowledged in the second before
}

// Process is a process of ours.
type Process struct {
	Name    string `json:"name"` // gateway-1
	Build   string `json:"build"`
	PID     int    `json:"pid"`
	Started bool   `json:"started"` // false: it ended
	Ordered bool   `json:"ordered"` // hookstorm started or ended it; false: it ended by itself
}

// Deploy is a rolling deployment: processes of the configuration before it and of its own
// run side by side. OK: a worker has announced its configuration.
type Deploy struct {
	Number int      `json:"number"` // from 1
	Change string   `json:"change"` // what it changes
	Order  string   `json:"order"`  // which processes get it first, and how
	Source string   `json:"source"` // of the route that comes and goes
	Route  string   `json:"route"`  // its name; empty: there is none
	Types  []string `json:"types"`  // of events, that the route takes
	Late   bool     `json:"late"`   // whether workers have the source late
}

// Run says what a run is, once, in its first line.
type Run struct {
	Seed     int64             `json:"seed"`
	Commit   string            `json:"commit"`
	Previous string            `json:"previous,omitempty"`
	Command  string            `json:"command"` // repeats it
	Settings string            `json:"settings"`
	Policies map[string]string `json:"policies"` // of destinations
	Honour   []string          `json:"honour"`   // destinations whose receiver honours keys
}

// Phase is a part of a run.
type Phase string

// The phases, in order.
const (
	PhaseStorm Phase = "storm" // traffic and faults
	PhaseHeal  Phase = "heal"  // all faults end, all processes run, traffic is over
	PhaseQuiet Phase = "quiet" // nothing is left to do, or the patience is over
)
