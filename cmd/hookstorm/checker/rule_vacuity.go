package checker

import "fmt"

// provesSomething fails a run with too few acknowledged deliveries, with too few fired faults, or
// without a fault of a required kind. Such a run would not find bugs.
func (j *judge) provesSomething() {
	if j.totals.Acked < j.opts.MinAcked {
		j.violated(RuleVacuity, "deliveries", fmt.Sprintf("%d deliveries were acknowledged, but a meaningful run needs at least %d", j.totals.Acked, j.opts.MinAcked))
	}
	if j.totals.Faults < j.opts.MinFaults {
		j.violated(RuleVacuity, "faults", fmt.Sprintf("%d faults fired, but a meaningful run needs at least %d", j.totals.Faults, j.opts.MinFaults))
	}
	for _, kind := range j.opts.Kinds {
		if j.faults[kind] == 0 {
			j.violated(RuleVacuity, kind, "no fault of this kind fired")
		}
	}
}
