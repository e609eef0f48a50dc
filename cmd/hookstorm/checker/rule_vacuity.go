package checker

import "fmt"

// provesSomething fails a run with too few acknowledged deliveries or too few fired faults.
// Such a run would find nothing, whatever was broken.
func (j *judge) provesSomething() {
	if j.totals.Acked < j.opts.MinAcked {
		j.violated(RuleVacuity, "deliveries", fmt.Sprintf("%d deliveries were acknowledged, and %d are the least that proves something", j.totals.Acked, j.opts.MinAcked))
	}
	if j.totals.Faults < j.opts.MinFaults {
		j.violated(RuleVacuity, "faults", fmt.Sprintf("%d faults fired, and %d are the least that proves something", j.totals.Faults, j.opts.MinFaults))
	}
	for _, kind := range j.opts.Kinds {
		if j.faults[kind] == 0 {
			j.violated(RuleVacuity, kind, "no fault of this kind fired")
		}
	}
}
