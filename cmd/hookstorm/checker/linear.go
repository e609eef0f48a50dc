package checker

import (
	"cmp"
	"slices"
	"syscall"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	// atOnce is the largest number of simultaneous deliveries of one event that porcupine checks.
	// Porcupine's work grows exponentially with this number.
	atOnce = 16
	// patience bounds each try of porcupine to decide one event. An event that stays undecided
	// fails the run.
	patience = 10 * time.Second
	// looks is the maximum number of tries for one event. A try that decides nothing is repeated if
	// this process got less processor time than patience, as on a busy machine.
	looks = 5
)

// answer is the known result of one operation on an event.
type answer int

const (
	wasFirst   answer = iota // accepted: no body was stored before
	wasKnown                 // a duplicate: a body was stored before
	wasTaken                 // accepted or a duplicate
	maybeTaken               // accepted, a duplicate, or without effect
	isStored                 // the snapshot: the final state
)

// step is an operation on an event. The model of an event is a cell: the first acceptance writes
// the body's hash to it, once.
type step struct {
	answer answer
	hash   string
}

// cell is the model of an event. Its state is the stored hash, or empty.
var cell = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, _ any) (bool, any) {
		stored, s := state.(string), input.(step)
		switch s.answer {
		case wasFirst:
			return stored == "", s.hash
		case wasKnown:
			return stored != "", stored
		case wasTaken, maybeTaken:
			return true, cmp.Or(stored, s.hash)
		case isStored:
			return stored == s.hash, stored
		}
		return false, stored
	},
	Equal: func(a, b any) bool { return a == b },
}

// linear checks that a single moment of acceptance explains an event's stored state and every
// response about the event. An operation of unknown outcome may have taken effect at any time after
// it began, or never. The model therefore lets such an operation end after the snapshot. Events
// that other rules reported are not reported again. Imported and fetched events, and sources that
// deduplicate by content, are not checked.
func (j *judge) linear() {
	reported := make(map[string]bool)
	for _, v := range j.violations {
		reported[v.Key] = true
	}
	for ref, e := range j.events {
		operations, most := j.operations(e)
		if isByContent(string(ref.Source)) {
			continue // a response of this source also covers events with other ids
		}
		if len(e.deliveries) == 0 || reported[ref.String()] || e.row != nil && (e.row.imported() || e.row.fetched()) {
			continue // imported and fetched events have no acceptance
		}
		if most > atOnce {
			j.totals.Wide++
			j.duplicatesFollow(e)
			continue
		}
		j.totals.Decided++
		switch decide(operations) {
		case porcupine.Ok:
		case porcupine.Illegal:
			j.eventViolatedf(RuleLinear, e, "no single moment of acceptance explains all responses about it")
		case porcupine.Unknown:
			j.eventViolatedf(RuleLinear, e, "porcupine did not decide within %s", patience)
		}
	}
}

// decide runs porcupine. It repeats an undecided run, with at most looks runs in total, if this
// process got less processor time than patience.
func decide(operations []porcupine.Operation) porcupine.CheckResult {
	result := porcupine.Unknown
	for look, before := 0, processorTime(); look < looks && result == porcupine.Unknown; look++ {
		result = porcupine.CheckOperationsTimeout(cell, operations, patience)
		after := processorTime()
		if after-before >= patience {
			break
		}
		before = after
	}
	return result
}

// processorTime returns the processor time that this process has used.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0 // cannot fail for this process; after an error, every try would count as starved
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// operations returns the operations on an event and the largest number of simultaneous ones.
func (j *judge) operations(e *event) ([]porcupine.Operation, int) {
	operations := make([]porcupine.Operation, 0, len(e.deliveries)+1)
	for i, d := range e.deliveries {
		if !d.mayCount() || !d.signed {
			continue
		}
		s := step{maybeTaken, d.hash}
		switch {
		case d.known:
			s.answer = wasKnown
		case d.accepted && len(d.events) == 1:
			s.answer = wasFirst
		case d.acknowledged():
			s.answer = wasTaken
		}
		operations = append(operations, porcupine.Operation{ClientId: i, Input: s, Call: d.began, Return: d.ended})
	}
	most := overlap(operations)
	stored := step{isStored, ""}
	if e.row != nil && j.erased[e.row.DeliveryID] {
		return operations, most // the hash of the stored body is no longer known
	}
	if e.row != nil {
		stored.hash = j.bodies[e.row.DeliveryID].Hash
	}
	// Every operation that ended did so before the snapshot.
	return append(operations, porcupine.Operation{ClientId: len(e.deliveries), Input: stored, Call: forever - 2, Return: forever - 1}), most
}

// overlap returns the largest number of simultaneous operations.
func overlap(operations []porcupine.Operation) int {
	ends := make([]int64, 0, len(operations))
	for _, o := range operations {
		ends = append(ends, o.Return)
	}
	slices.Sort(ends)
	open, most, ended := 0, 0, 0
	for _, o := range operations { // in the order they began
		for ended < len(ends) && ends[ended] < o.Call {
			ended++
			open--
		}
		open++
		most = max(most, open)
	}
	return most
}

// duplicatesFollow is the weaker check for an event with too many simultaneous deliveries. The
// gateway may answer duplicate only after another delivery of the event began. If a delivery of
// this event alone was answered accepted, the duplicate must also end after that delivery began.
func (j *judge) duplicatesFollow(e *event) {
	began := int64(forever)
	for _, d := range e.deliveries {
		if d.accepted && len(d.events) == 1 {
			began = d.began
		}
	}
	for i, d := range e.deliveries {
		others := func(other *delivery) bool { return other != d && other.mayCount() && other.began < d.ended }
		if d.known && ((began != forever && d.ended < began) || !slices.ContainsFunc(e.deliveries, others)) {
			j.eventViolatedf(RuleLinear, e, "its delivery %d was answered duplicate at %s, before any other could have been accepted", i+1, at(d.ended))
			return
		}
	}
}
