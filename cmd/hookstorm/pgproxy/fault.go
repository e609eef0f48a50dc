package pgproxy

import (
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Kind is what a fault does.
type Kind string

// Faults at a statement: a COMMIT, or what Fault.Match matches. Each firing is for
// one statement of one connection.
const (
	// LoseRequest cuts the connection in the place of the statement: the server rolls
	// back.
	LoseRequest Kind = "lose_request"
	// LoseAnswer lets the server execute the statement, swallows the answer and cuts
	// the connection: the client cannot know.
	LoseAnswer Kind = "lose_answer"
	// HangAnswer swallows the answer and leaves the connection open until the client
	// gives up.
	HangAnswer Kind = "hang_answer"
	// Terminate lets the server execute the statement, and delivers in the place of its
	// answer that the connection was ended (57P01), as a shutdown or a pooler may.
	Terminate Kind = "terminate"
	// DelayRequest holds the statement back for Fault.Delay.
	DelayRequest Kind = "delay_request"
	// DelayAnswer holds the answer back for Fault.Delay: what the statement did is
	// there for others already.
	DelayAnswer Kind = "delay_answer"
)

// Faults of the line: they last. Each firing is for one connection that felt it.
const (
	// PartitionRequests holds back what clients send, their good-byes and new
	// connections too. What was held back arrives when the fault ends, as TCP has it:
	// a COMMIT perhaps after its client gave up and did its work again.
	PartitionRequests Kind = "partition_requests"
	// PartitionAnswers holds back what the server sends.
	PartitionAnswers Kind = "partition_answers"
	// Partition holds back both.
	Partition Kind = "partition"
	// Latency holds each piece of the stream back for Fault.Delay, in both directions.
	Latency Kind = "latency"
	// SlowBytes passes Fault.Bytes at a time, one piece each Fault.Delay.
	SlowBytes Kind = "slow_bytes"
	// Refuse resets connections that begin. One process or all of them; those that are
	// there remain.
	Refuse Kind = "refuse"
	// Cap answers connections that begin as a server whose slots are taken (53300)
	// when Fault.Connections are there already.
	Cap Kind = "cap"
)

// Who are the connections a fault is for. The zero value is all of them.
type Who struct {
	// Listener is the name of the listener they came through.
	Listener string
	// Application is their application_name.
	Application string
}

func (w Who) has(c *conn) bool {
	return (w.Listener == "" || w.Listener == c.listener) && (w.Application == "" || w.Application == c.application)
}

// Fault says what breaks, for whom and how often.
type Fault struct {
	Kind Kind
	Who  Who
	// Match chooses the statements of a fault at a statement. Default: COMMIT.
	Match *regexp.Regexp
	// Count is how often it fires; 0 for as often as it can.
	Count int
	// For is how long it is armed; 0 for until Disarm. What it did to a connection
	// before that stays done: a hanging answer is never delivered.
	For time.Duration
	// Delay is the time of DelayRequest, DelayAnswer, Latency and SlowBytes.
	Delay time.Duration
	// Bytes are those of SlowBytes.
	Bytes int
	// Connections are those of Cap.
	Connections int
	// OnFiring is called for each firing; it must not wait. Default: nothing.
	OnFiring func(Firing)
}

// Firing is a fault that happened to a connection.
type Firing struct {
	// At is when: for LoseAnswer, HangAnswer and Terminate after the server has
	// answered, for delays and what lasts at their beginning.
	At time.Time
	// Kind is that of the fault.
	Kind Kind
	// Listener is the name of the listener the connection came through.
	Listener string
	// Application is the connection's application_name.
	Application string
	// BackendPID is the server's process for the connection, 0 before it told.
	BackendPID uint32
	// SQL is the statement, empty for a fault of the line.
	SQL string
	// Answer is what the server said and the client never heard: the tag of the last
	// command, or the SQLSTATE of an error.
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

// swallows reports whether the client never sees the answer.
func (k Kind) swallows() bool { return k == LoseAnswer || k == HangAnswer || k == Terminate }

// lasts reports whether the fault is a state of the line, which has no count.
func (k Kind) lasts() bool {
	switch k {
	case PartitionRequests, PartitionAnswers, Partition, Latency, SlowBytes:
		return true
	default:
		return false
	}
}

// validate reports all that is wrong with a fault.
func (f Fault) validate() error {
	var wrong []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	known := f.Kind.atStatement() || f.Kind.lasts() || f.Kind == Refuse || f.Kind == Cap
	refuse(!known, "kind %q is unknown", f.Kind)
	refuse(f.Match != nil && !f.Kind.atStatement(), "%s is no fault at a statement: Match has no meaning", f.Kind)
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
