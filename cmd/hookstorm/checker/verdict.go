package checker

import (
	"fmt"
	"strconv"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
)

// Rule names what was violated: an invariant of docs/guarantees.md, or one of those
// below.
type Rule string

// The rules that are no invariant of their own.
const (
	RuleSequence Rule = "order"   // order_by and latest_by
	RulePause    Rule = "pause"   // an operator's pause holds
	RuleNewest   Rule = "newest"  // the newest configuration decides which effects an event has
	RuleLedger   Rule = "ledger"  // the ledger says what the receivers saw
	RuleLinear   Rule = "linear"  // the answers about an event agree with one moment at which it was accepted
	RuleVacuity  Rule = "vacuity" // the run proved too little
)

// Violation is a promise that was broken.
type Violation struct {
	Rule Rule
	Key  string // of what it is about: source/event id, or the idempotency key of an effect
	Text string
	// Story has the records that concern the key, in order, and no others. Only the
	// first violations of each rule have one.
	Story []history.Record

	also []string // further subjects of the story
}

// Totals say what a history holds.
type Totals struct {
	Results map[string]map[string]int // how many operations of each kind ended how; rows by table
	Acked   int                       // deliveries answered 2xx
	Faults  int                       // that fired, not counting simulated ones
	Kinds   int                       // of those faults
	Events  int                       // that are stored
	Effects int                       // likewise
	Decided int                       // events whose deliveries porcupine looked at
	Wide    int                       // events with too many deliveries at once for that
	Records int
}

// Verdict is what a history proves.
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

// The results of a delivery, as the gateway's answer says them.
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
