package checker

import "slices"

// doneWasConfirmed checks I6. For each done effect, the receiver answered 2xx to a call with the
// effect's key. I10 covers sql effects.
func (j *judge) doneWasConfirmed() {
	for _, e := range j.effects {
		if e.row == nil || e.row.State != "done" || j.kindOf(e) == "sql" {
			continue
		}
		calls := j.calls[e.row.IdempotencyKey]
		if !slices.ContainsFunc(calls, (*call).confirmed) {
			j.effectViolatedf("I6", e, "it is done, but none of the %d calls with its key was answered with 2xx", len(calls))
		}
	}
}
