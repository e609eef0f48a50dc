package sweep

import (
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
)

// tally adds the fired faults to the itinerary and to the history.
type tally struct {
	itinerary *itinerary
	log       *firedLog
	history   *history.Writer
}

// update reads the faults that fired in any process since the last call.
func (t *tally) update() error {
	visits, err := t.log.next()
	for _, v := range visits {
		t.made(v)
	}
	return err
}

// made records a visit.
func (t *tally) made(v Visit) {
	if !t.itinerary.made(v) {
		return // no planned visit: the lane sets this failpoint in all its processes
	}
	fault := history.Fault{Kind: "failpoint_" + v.Action, Target: v.Place, Detail: v.String()}
	t.history.Begin(history.Record{Who: "sweep", Op: history.OpFault, Fault: &fault}).End(history.OK, "", nil)
}
