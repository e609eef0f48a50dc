// Package history records a run of hookstorm in a file. It writes one JSON object per line: for the
// beginning and the end of every operation, for every note, and for every row of the final
// snapshot. Any program can read the file and check the run.
package history

import "encoding/json"

// Kind is the kind of a record.
type Kind string

// The kinds. Every Invoke is followed by at most one of OK, Fail and Unknown with the same ID. An
// operation without such an end counts as Unknown.
const (
	Invoke  Kind = "invoke"  // the operation begins
	OK      Kind = "ok"      // the operation took effect
	Fail    Kind = "fail"    // the operation certainly took no effect
	Unknown Kind = "unknown" // the operation may have taken effect, now or later
	Note    Kind = "note"    // happened at one moment, such as the start of a process; no other line ends it
	Row     Kind = "row"     // a row of the database at the end of the run
)

// Op names an operation.
type Op string

// The operations, with the member of Record that describes each.
const (
	OpDeliver Op = "deliver" // a sender's delivery to a gateway: Delivery
	OpCall    Op = "call"    // an attempt of an effect, seen by its receiver: Call
	OpEnqueue Op = "enqueue" // the application's own effect: Enqueue
	OpOrder   Op = "order"   // an operator action: Order
	OpFault   Op = "fault"   // a fault that the nemesis injects: Fault
	OpProcess Op = "process" // the start or end of a process of the run: Process
	OpDeploy  Op = "deploy"  // a rolling deployment, until a worker has its configuration: Deploy
	OpRun     Op = "run"     // a description of the whole run: Run
	OpPhase   Op = "phase"   // the start of another phase: Phase
	OpTable   Op = "table"   // a row of the snapshot: Table and Columns
)

// Record is one line of a history.
type Record struct {
	At   int64  `json:"t"`              // microseconds since the run began, on one monotonic clock
	Who  string `json:"who"`            // the actor, such as sender-3, receiver, operator or nemesis
	Kind Kind   `json:"kind"`           //
	Op   Op     `json:"op"`             //
	ID   int64  `json:"id,omitempty"`   // number of the operation: an end has the ID of its Invoke
	Text string `json:"text,omitempty"` // for human readers: an error, a cause

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

// Delivery is one HTTP request of a sender. The record of its end repeats the record of its
// beginning, and adds the response.
type Delivery struct {
	Source   string   `json:"source"`
	Gateway  string   `json:"gateway"`            // name or URL of the process that received the request
	EventIDs []string `json:"event_ids"`          // in the order of the body
	Hash     string   `json:"hash"`               // SHA-256 of the body, hex
	Signed   bool     `json:"signed"`             // the signature is valid; if false, the gateway must refuse the delivery
	Listed   bool     `json:"listed,omitempty"`   // in the sender's list: its events must be fetched if no delivery succeeds
	Group    string   `json:"group,omitempty"`    // the key for order_by and latest_by
	Version  int64    `json:"version,omitempty"`  // version of the object: larger is newer
	Attempt  int      `json:"attempt"`            // the sender's attempt, from 1; 0 if the event was only listed
	Status   int      `json:"status,omitempty"`   // HTTP status; 0 without a response
	Result   string   `json:"result,omitempty"`   // accepted or duplicate, from the response
	Deadline int64    `json:"deadline,omitempty"` // maximum wait of the sender, microseconds
}

// Call is one request that a receiver got, whether or not the receiver applied it.
type Call struct {
	Destination string `json:"destination"`
	Key         string `json:"key"`              // idempotency key
	Hash        string `json:"hash"`             // SHA-256 of the body, or of the whole email, hex
	Behaviour   string `json:"behaviour"`        // the receiver's behaviour
	Applied     bool   `json:"applied"`          // this call was applied: true for the first applied call with its key
	Known       bool   `json:"known,omitempty"`  // an earlier call with its key was applied
	Status      int    `json:"status,omitempty"` // status of the response; 0 if none was sent
}

// Enqueue is an effect that an application enqueues in its own transaction.
type Enqueue struct {
	Destination string `json:"destination"`
	Key         string `json:"key"`
	Hash        string `json:"hash"` // SHA-256 of the body, hex
	Rollback    bool   `json:"rollback,omitempty"`
	Via         string `json:"via"` // go, sql or sql_bytes
	// Resends is the idempotency key of the effect that an operator resent, and Key is then the
	// action's request id. Resends is empty if an application enqueued the effect.
	Resends string `json:"resends,omitempty"`
}

// Order is an operator action through the command line or the Go API.
type Order struct {
	Action      string `json:"action"` // such as replay, erase, retry, cancel, pause or resume
	Source      string `json:"source,omitempty"`
	EventID     string `json:"event_id,omitempty"`
	Key         string `json:"key,omitempty"` // idempotency key of the effect
	Destination string `json:"destination,omitempty"`
	NewKeys     bool   `json:"new_keys,omitempty"` // the replay creates new keys
	Affected    int64  `json:"affected,omitempty"`
	Generation  int    `json:"generation,omitempty"` // generation that a replay began; 0 if unknown
}

// Fault is a fault that the nemesis injects. OK means that the fault fired and has ended. If it
// could not be healed, the Text of the record contains the error. Fail means that the fault did not
// fire.
type Fault struct {
	Kind      string `json:"kind"`
	Target    string `json:"target,omitempty"`
	Detail    string `json:"detail,omitempty"`
	Simulated bool   `json:"simulated,omitempty"` // replaces a fault that cannot be injected on this machine
	InFlight  int    `json:"in_flight"`           // deliveries in progress when the fault fired
	AckedLast int    `json:"acked_last"`          // deliveries acknowledged in the second before the fault fired
}

// Process is the start or the end of a process of the run.
type Process struct {
	Name    string `json:"name"` // such as gateway-1
	Build   string `json:"build"`
	PID     int    `json:"pid"`
	Started bool   `json:"started"` // false if the process exited
	Ordered bool   `json:"ordered"` // hookstorm started or stopped the process
}

// Deploy is a rolling deployment: processes of the old and the new configuration run side by
// side. OK means that a worker has announced the new configuration.
type Deploy struct {
	Number int      `json:"number"` // from 1
	Change string   `json:"change"` // the change, such as route added
	Order  string   `json:"order"`  // the first role to change, then after a comma whether its processes reload, and whether an old process restarts
	Source string   `json:"source"` // source of the changing route
	Route  string   `json:"route"`  // name of the changing route; empty if this configuration has no such route
	Types  []string `json:"types"`  // event types that the route matches
	Late   bool     `json:"late"`   // workers have the source scenario.Late
}

// Run describes a run. A history contains it once, before the first delivery.
type Run struct {
	Seed     int64             `json:"seed"`
	Commit   string            `json:"commit"`
	Previous string            `json:"previous,omitempty"`
	Command  string            `json:"command"` // repeats the run
	Settings string            `json:"settings"`
	Policies map[string]string `json:"policies"` // policies by destination
	Honour   []string          `json:"honour"`   // destinations whose receiver applies each key once
}

// Phase is a part of a run.
type Phase string

// The phases, in order.
const (
	PhaseStorm Phase = "storm" // traffic and faults
	PhaseHeal  Phase = "heal"  // all faults end, all processes run, traffic has ended
	PhaseQuiet Phase = "quiet" // no work is left, or the time limit has passed
)
