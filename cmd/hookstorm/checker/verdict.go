package checker

import (
	"fmt"
	"strconv"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
)

// Rule names a violated promise: an invariant of docs/guarantees.md, or one of the rules
// below.
type Rule string

// The rules that check no invariant.
const (
	RuleSequence Rule = "order"   // order_by and latest_by
	RulePause    Rule = "pause"   // an operator's pause is respected
	RuleNewest   Rule = "newest"  // the newest configuration decides an event's effects
	RuleLedger   Rule = "ledger"  // the ledger agrees with what the receivers saw
	RuleLinear   Rule = "linear"  // one moment of acceptance explains all responses about an event
	RuleVacuity  Rule = "vacuity" // the run did too little to find bugs
)

// Violation is a broken promise.
type Violation struct {
	Rule Rule
	Key  string // the subject, such as source/event id or the idempotency key of an effect
	Text string
	// Story contains only the records that concern the key or a related subject, in order. Only the
	// first violations of each rule have a story.
	Story []history.Record

	also []string // further subjects of the story
}

// Totals count the content of a history.
type Totals struct {
	Results map[string]map[string]int // operations by op and result; rows by table
	Acked   int                       // deliveries answered 2xx
	Faults  int                       // faults that fired, not counting simulated ones
	Kinds   int                       // distinct kinds of these faults
	Events  int                       // stored events
	Effects int                       // stored effects
	Decided int                       // events whose deliveries porcupine checked
	Wide    int                       // events with too many simultaneous deliveries for porcupine
	Records int
}

// Verdict is the result of Check.
type Verdict struct {
	Violations []Violation
	Totals     Totals
}

func (t *Totals) count(op, result string) { t.Results[op] = addTo(t.Results[op], result, 1) }

func addTo(counts map[string]int, name string, n int) map[string]int {
	if counts == nil {
		counts = make(map[string]int)
	}
	counts[name] += n
	return counts
}

// The results of a delivery in the gateway's response.
const (
	resultAccepted  = "accepted"
	resultDuplicate = "duplicate"
)

func resultOfDelivery(r *history.Record) string {
	switch {
	case r.Kind == history.OK && r.Delivery.Result != "":
		return r.Delivery.Result
	case r.Delivery.Status != 0:
		return strconv.Itoa(r.Delivery.Status)
	}
	return "no answer"
}

func resultOfCall(c *history.Call) string {
	answer := "no answer"
	if c.Status != 0 {
		answer = strconv.Itoa(c.Status)
	}
	switch {
	case c.Applied:
		return "applied, " + answer
	case c.Known:
		return "known, " + answer
	}
	return answer
}

func resultOfEnqueue(e *enqueue) string {
	if e.Rollback {
		return "rolled back"
	}
	return fmt.Sprintf("%s, %s", e.Via, e.kind)
}
