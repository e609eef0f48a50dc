package pgproxy

import (
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Kind is the kind of a fault.
type Kind string

// Faults of a statement affect a COMMIT, or a statement that matches Fault.Match. Each firing
// affects one statement of one connection.
const (
	// LoseRequest cuts the connection instead of relaying the statement: the server rolls
	// back.
	LoseRequest Kind = "lose_request"
	// LoseAnswer lets the server execute the statement, swallows the response and cuts the
	// connection. The client cannot know the outcome.
	LoseAnswer Kind = "lose_answer"
	// HangAnswer swallows the response and leaves the connection open until the client gives up.
	HangAnswer Kind = "hang_answer"
	// Terminate lets the server execute the statement. It replaces the response with the error
	// that the connection was terminated (57P01), as a shutdown or a pooler may.
	Terminate Kind = "terminate"
	// DelayRequest holds the statement back for Fault.Delay.
	DelayRequest Kind = "delay_request"
	// DelayAnswer holds the response back for Fault.Delay. The statement's effects are already
	// visible to other sessions.
	DelayAnswer Kind = "delay_answer"
)

// Faults of the line affect whole connections, one at each firing. All but Refuse and Cap are
// lasting states without a count.
const (
	// PartitionRequests holds back everything that clients send, including goodbyes (Terminate
	// messages) and new connections. When the fault ends, all of it arrives, as with TCP. A COMMIT
	// may thus arrive after its client gave up and repeated its work.
	PartitionRequests Kind = "partition_requests"
	// PartitionAnswers holds back everything that the server sends.
	PartitionAnswers Kind = "partition_answers"
	// Partition holds back both directions.
	Partition Kind = "partition"
	// Latency holds each piece of the stream back for Fault.Delay, in both directions.
	Latency Kind = "latency"
	// SlowBytes relays at most Fault.Bytes bytes at a time, and waits for Fault.Delay after each
	// piece.
	SlowBytes Kind = "slow_bytes"
	// Refuse resets new connections that Who selects. Existing connections remain.
	Refuse Kind = "refuse"
	// Cap rejects new connections once the number in Fault.Connections is open, with 53300,
	// like a server that has no free slots.
	Cap Kind = "cap"
)

// Who selects the connections that a fault affects. The zero value selects all.
type Who struct {
	// Listener is the name of the listener of the connections.
	Listener string
	// Application is the application_name of the connections.
	Application string
}

func (w Who) has(c *conn) bool {
	return (w.Listener == "" || w.Listener == c.listener) && (w.Application == "" || w.Application == c.application)
}

// Fault describes a fault, the connections that it affects, and how often it fires.
type Fault struct {
	Kind Kind
	Who  Who
	// Match selects the statements that a fault of a statement affects. Defaults to COMMIT.
	Match *regexp.Regexp
	// Count is the maximum number of firings; 0 means no limit.
	Count int
	// For is the time for which the fault is armed; 0 means until Disarm. A response that
	// HangAnswer swallowed is not delivered even after that time.
	For time.Duration
	// Delay is the length of the delay for DelayRequest, DelayAnswer, Latency and SlowBytes.
	Delay time.Duration
	// Bytes is the piece size of SlowBytes.
	Bytes int
	// Connections is the limit of Cap.
	Connections int
	// OnFiring is called for each firing. It must not block. If nil, nothing is called.
	OnFiring func(Firing)
}

// Firing is a fault that happened to a connection.
type Firing struct {
	// At is the time of the firing. LoseAnswer, HangAnswer and Terminate fire after the server
	// has responded. Delays and lasting faults fire when they begin.
	At time.Time
	// Kind is the kind of the fault.
	Kind Kind
	// Listener is the name of the connection's listener.
	Listener string
	// Application is the connection's application_name.
	Application string
	// BackendPID is the id of the server's process for the connection, 0 if it was not known yet.
	BackendPID uint32
	// SQL is the statement, empty for a fault of the line.
	SQL string
	// Answer is the server's response that the client never got: the tag of the last command, or
	// the SQLSTATE of an error.
	Answer string
}

func (k Kind) atStatement() bool {
	switch k {
	case LoseRequest, LoseAnswer, HangAnswer, Terminate, DelayRequest, DelayAnswer:
		return true
	default:
		return false
	}
}

// swallows reports whether the client never gets the response.
func (k Kind) swallows() bool { return k == LoseAnswer || k == HangAnswer || k == Terminate }

// lasts reports whether the fault is a lasting state, without a count.
func (k Kind) lasts() bool {
	switch k {
	case PartitionRequests, PartitionAnswers, Partition, Latency, SlowBytes:
		return true
	default:
		return false
	}
}

// validate returns all errors in a fault.
func (f Fault) validate() error {
	var wrong []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	known := f.Kind.atStatement() || f.Kind.lasts() || f.Kind == Refuse || f.Kind == Cap
	refuse(!known, "kind %q is unknown", f.Kind)
	refuse(f.Match != nil && !f.Kind.atStatement(), "%s is not a fault of a statement: leave Match nil", f.Kind)
	refuse(f.Count != 0 && f.Kind.lasts(), "%s lasts: give For, not Count", f.Kind)
	refuse(f.Count < 0, "Count is %d", f.Count)
	refuse(f.For < 0, "For is %s", f.For)
	delays := f.Kind == DelayRequest || f.Kind == DelayAnswer || f.Kind == Latency || f.Kind == SlowBytes
	refuse(delays && f.Delay <= 0, "%s needs a Delay", f.Kind)
	refuse(f.Kind == SlowBytes && f.Bytes <= 0, "%s needs Bytes", f.Kind)
	refuse(f.Kind == Cap && f.Connections < 0, "Connections is %d", f.Connections)
	if err := errors.Join(wrong...); err != nil {
		return fmt.Errorf("arm fault: %w", err)
	}
	return nil
}
