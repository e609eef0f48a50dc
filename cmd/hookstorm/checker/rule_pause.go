package checker

import "slices"

// clockSlack is the maximum difference between the clocks of the run and the database, in
// microseconds. The snapshot compares the clocks only once.
const clockSlack = 100_000

// pause is a period in which an operator's pause of a destination was certainly in effect.
type pause struct{ from, to int64 }

// pausesHold checks pauses. No attempt, not even a probe, may begin after an operator's pause was
// answered and before any resume request. An attempt begins between the start of its claim's
// transaction, which may have waited, and the transition that this transaction wrote. Both times
// use the database's clock, so a slow network does not matter.
func (j *judge) pausesHold() {
	pauses := j.pauses()
	if len(pauses) == 0 {
		return
	}
	for _, e := range j.effects {
		if e.row == nil {
			continue
		}
		for _, a := range e.attempts {
			began, claimed := j.onRun(a.StartedAt), j.onRun(e.claimedAt(a))
			if a.isClamped() {
				if began = j.firstCallSince(e, began); began == forever {
					continue
				}
				claimed = began
			}
			i := slices.IndexFunc(pauses[e.row.Destination], func(p pause) bool { return began > p.from+clockSlack && claimed < p.to-clockSlack })
			if i >= 0 {
				j.effectViolatedf(RulePause, e, "attempt %d began at %s, but its destination was paused from %s to %s",
					a.Attempt, at(began), at(pauses[e.row.Destination][i].from), until(pauses[e.row.Destination][i].to))
				j.violations[len(j.violations)-1].also = []string{subjectOfDestination(e.row.Destination)}
				break
			}
		}
	}
}

// isClamped reports whether the attempt may have begun later than its row says. An operator action
// that withdraws the claim may have waited for the claim's transaction. It then records the start
// of its own transaction as both the start and the end of the attempt.
func (a attemptRow) isClamped() bool { return a.Lost && a.StartedAt == a.FinishedAt }

// firstCallSince returns the time of the first call that the receiver got for the effect since the
// given time, or up to clockSlack earlier. If there is none, it returns forever.
func (j *judge) firstCallSince(e *effect, since int64) int64 {
	first := int64(forever)
	for _, c := range j.calls[e.row.IdempotencyKey] {
		if c.began > since-clockSlack {
			first = min(first, c.began)
		}
	}
	return first
}

// claimedAt returns the time at which the transition to an attempt was written, or the start of the
// attempt if no transition is recorded.
func (e *effect) claimedAt(a attemptRow) instant {
	for _, t := range e.transitions {
		if t.Attempt == a.Attempt && t.To == "started" {
			return t.At
		}
	}
	return a.StartedAt
}

func (j *judge) pauses() map[string][]pause {
	pauses := make(map[string][]pause)
	for _, o := range j.orders {
		if o.Action != "pause" || o.kind != ok || o.Destination == "" {
			continue
		}
		end := int64(forever)
		for _, other := range j.ordersOf[o.Destination] {
			// A resume that began earlier and may have taken effect later ends the pause
			// immediately. A failed resume does not.
			if other.Action == "resume" && other.kind != fail && other.ended > o.began {
				end = min(end, max(other.began, o.ended))
			}
		}
		pauses[o.Destination] = append(pauses[o.Destination], pause{o.ended, end})
	}
	return pauses
}

func until(t int64) string {
	if t == forever {
		return "the end"
	}
	return at(t)
}
