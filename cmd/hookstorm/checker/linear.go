package checker

import (
	"cmp"
	"slices"
	"syscall"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	// atOnce is how many deliveries of an event may be under way at once for
	// porcupine to look at it: its work grows exponentially with them.
	atOnce = 16
	// patience bounds its work on one event. One that is not decided fails the run.
	patience = time.Second
	// looks is how often it may try when something else had the processors: that
	// second counts as one only if this process was given a second of them.
	looks = 5
)

// answer is what is known of how one operation on an event ended.
type answer int

const (
	wasFirst   answer = iota // it was accepted: nothing was stored before
	wasKnown                 // a duplicate: something was stored before
	wasTaken                 // one of the two
	maybeTaken               // or neither
	isStored                 // the snapshot: this stands at the end
)

// step is an operation on an event: a cell that is written once, by its first
// acceptance, with the hash of a body.
type step struct {
	answer answer
	hash   string
}

// cell is the model: the state is the hash that is stored, or empty.
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

// linear: for each event there is a moment at which it was accepted that explains
// every answer about it, and what is stored. Operations of unknown outcome may have
// taken effect at any time after they began, or not at all: they end after the
// snapshot. What the rules of sets found already is not reported again.
func (j *judge) linear() {
	reported := make(map[string]bool)
	for _, v := range j.violations {
		reported[v.Key] = true
	}
	for ref, e := range j.events {
		operations, most := j.operations(e)
		if isByContent(string(ref.Source)) {
			continue // its answers are also about events of other ids
		}
		if len(e.deliveries) == 0 || reported[ref.String()] || e.row != nil && (e.row.imported() || e.row.fetched()) {
			continue // what was imported or fetched has no acceptance
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
			j.eventViolatedf(RuleLinear, e, "no moment at which it was accepted explains all the answers about it")
		case porcupine.Unknown:
			j.eventViolatedf(RuleLinear, e, "porcupine did not decide within %s", patience)
		}
	}
}

// decide asks porcupine, and again only where it was not given the time it has.
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

// processorTime is what this process has been given of the processors so far.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0 // not possible for the process itself; every look would count as starved
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// operations are what happened to an event, and how many were under way at once.
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
		return operations, most // what was stored is not to be told any more
	}
	if e.row != nil {
		stored.hash = j.bodies[e.row.DeliveryID].Hash
	}
	// All that ended did so before.
	return append(operations, porcupine.Operation{ClientId: len(e.deliveries), Input: stored, Call: forever - 2, Return: forever - 1}), most
}

// overlap is how many operations were under way at once, at most.
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

// duplicatesFollow is what is said of an event with too many deliveries at once: a
// duplicate is not answered before something was sent that it repeats, nor before
// the delivery began that was answered accepted.
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
			j.eventViolatedf(RuleLinear, e, "delivery %d of it was answered duplicate at %s, before any other could have been accepted", i+1, at(d.ended))
			return
		}
	}
}
