package checker

import (
	"cmp"
	"net/http"
	"slices"
)

const atMostOnce = "at_most_once"

// atMostOnce checks I8. After an attempt that may have been applied, an at_most_once effect
// starts again only at an operator's request. The transition log shows the attempts, and the
// receivers show the calls.
func (j *judge) atMostOnce() {
	for _, e := range j.effects {
		if e.row == nil || e.row.Policy != atMostOnce {
			continue
		}
		j.startedAgain(e)
		j.calledAgain(e)
	}
}

// startedAgain walks the transitions. After an attempt that may have been applied, only an
// operator action on a failed, parked or cancelled effect may lead to the next attempt.
func (j *judge) startedAgain(e *effect) {
	doubtful := make(map[int]bool)
	for _, a := range e.attempts {
		doubtful[a.Attempt] = a.Applied != "no"
	}
	slices.SortFunc(e.transitions, func(a, b transitionRow) int { return cmp.Compare(a.ID, b.ID) })
	allowed := true
	for _, t := range e.transitions {
		if reopens(t) {
			allowed = true
		}
		if t.To != "started" {
			continue
		}
		if !allowed {
			j.effectViolatedf("I8", e, "attempt %d started after one that may have been applied, and no operator action requested it", t.Attempt)
			return
		}
		allowed = !doubtful[t.Attempt]
	}
}

// reopens reports whether a transition is an operator's request to attempt a failed, parked or
// cancelled effect again.
func reopens(t transitionRow) bool {
	return (t.From == "failed" || t.From == "parked" || t.From == "cancelled") && (t.To == "pending" || t.To == "in_doubt")
}

// calledAgain counts calls that may have been applied. Each call after the first needs its own
// earlier operator action. The check counts calls and does not pair them with actions. The call of
// a stalled attempt may arrive after the call of the attempt that an operator requested.
func (j *judge) calledAgain(e *effect) {
	calls := j.calls[e.row.IdempotencyKey]
	mail := j.kindOf(e) == "email"
	before := 0
	for _, c := range calls {
		if ordered := j.reopenings(e, c.began); before > ordered {
			j.effectViolatedf("I8", e, "a call arrived at %s, after %d that may have been applied and %d operator requests to try again", at(c.began), before, ordered)
			return
		}
		if !refused(c.status, mail) {
			before++
		}
	}
}

// refused reports whether a response shows that this call was not applied, whatever earlier calls
// did. A mail server that answers 4yz or 5yz has not accepted the email (RFC 5321, 4.2.1). Over
// HTTP, 408, 409 and 5xx leave the outcome unknown.
func refused(status int, mail bool) bool {
	if mail {
		return status >= 300
	}
	return status >= 300 && status < 500 && status != http.StatusRequestTimeout && status != http.StatusConflict
}

// reopenings counts the operator actions that may have reopened the effect and that began before a
// given time. Such an action is a retry of the effect, a replay of an event that led to it, or a
// bulk run of either.
func (j *judge) reopenings(e *effect, before int64) int {
	targets := map[string]bool{e.row.IdempotencyKey: true, "": true, refOf(e.row).String(): true}
	for _, from := range e.links {
		targets[from.ref.String()] = true
	}
	n := 0
	for target := range targets {
		for _, o := range j.ordersOf[target] {
			if o.began < before && o.kind != fail && (o.Action == "retry" || o.Action == "replay") {
				n++
			}
		}
	}
	return n
}
