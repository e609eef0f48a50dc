package checker

import (
	"cmp"
	"slices"
)

// ledgerIsWhatWasSeen compares the ledger with the calls at the receivers. Each finished attempt
// has a row, and at most one attempt is recorded as applied. There are no more calls than attempts.
// If any call was confirmed, there are no more applied attempts than confirmed calls. A failed
// effect was not applied.
func (j *judge) ledgerIsWhatWasSeen() {
	for _, e := range j.effects {
		if e.row == nil {
			continue
		}
		slices.SortFunc(e.attempts, func(a, b attemptRow) int { return cmp.Compare(a.Attempt, b.Attempt) })
		ended := e.row.Attempt
		if e.row.State == "started" {
			ended--
		}
		applied := 0
		for i, a := range e.attempts {
			if a.Attempt != i+1 {
				j.effectViolatedf(RuleLedger, e, "attempt %d has no row", i+1)
				break
			}
			if a.Applied == "yes" {
				applied++
			}
		}
		if len(e.attempts) < ended && (len(e.attempts) == 0 || e.attempts[len(e.attempts)-1].Attempt == len(e.attempts)) {
			j.effectViolatedf(RuleLedger, e, "it was attempted %d times, but has %s of attempts", e.row.Attempt, plural(len(e.attempts), "row"))
		}
		if applied > 1 {
			j.effectViolatedf(RuleLedger, e, "%d attempts are recorded as applied", applied)
		}
		if j.kindOf(e) == "sql" {
			continue
		}
		calls := j.calls[e.row.IdempotencyKey]
		confirmed := 0
		for _, c := range calls {
			if c.confirmed() {
				confirmed++
			}
		}
		if len(calls) > e.row.Attempt {
			j.effectViolatedf(RuleLedger, e, "its receiver got %s, but it was attempted %d times", plural(len(calls), "call"), e.row.Attempt)
		}
		if e.row.State == "failed" {
			// The effect failed permanently. If an attempt might have been applied, the effect
			// would be parked instead.
			if i := slices.IndexFunc(calls, func(c *call) bool { return c.applied }); i >= 0 {
				j.effectViolatedf(RuleLedger, e, "it has failed, but the call at %s was applied", at(calls[i].began))
			}
		}
		if applied > confirmed && confirmed > 0 {
			j.effectViolatedf(RuleLedger, e, "%d attempts are recorded as applied, but %d calls were confirmed", applied, confirmed)
		}
	}
}
