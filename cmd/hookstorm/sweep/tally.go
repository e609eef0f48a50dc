package sweep

import (
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
)

// tally brings what fired to the itinerary and into the history.
type tally struct {
	itinerary *itinerary
	log       *firedLog
	history   *history.Writer
}

// update reads what fired since the last call, of all processes.
func (t *tally) update() error {
	visits, err := t.log.next()
	for _, v := range visits {
		t.made(v)
	}
	return err
}

// made notes a visit.
func (t *tally) made(v Visit) {
	if !t.itinerary.made(v) {
		return // a rule that a lane has always
	}
	fault := history.Fault{Kind: "failpoint_" + v.Action, Target: v.Place, Detail: v.String()}
	t.history.Begin(history.Record{Who: "sweep", Op: history.OpFault, Fault: &fault}).End(history.OK, "", nil)
}
