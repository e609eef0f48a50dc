package checker

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// series groups the effects by scope and by the result of the function key: an order key or an
// object's key. It omits effects for which the result is empty.
func (j *judge) series(key func(*effectRow) string) map[object][]*effect {
	all := make(map[object][]*effect)
	for _, e := range j.effects {
		if e.row != nil && key(e.row) != "" {
			o := object{string(e.id.Scope), key(e.row)}
			all[o] = append(all[o], e)
		}
	}
	return all
}

// inOrder checks order_by as receivers saw it. If an event was acknowledged before a second event
// was sent, the first event's effect was applied before the second event's effect was called.
// Simultaneously accepted events have no order. The check ignores an earlier effect that did not
// end as done, or that an operator reopened after its end. It also ignores an earlier effect whose
// event was dispatched only by a replay.
func (j *judge) inOrder() {
	for order, effects := range j.series(func(row *effectRow) string { return row.OrderKey }) {
		if effects[0].row.LatestKey != "" {
			continue
		}
		j.oneAfterAnother(order, effects)
	}
}

// place holds the times of the run that determine an effect's position in its order.
type place struct {
	effect  *effect
	sent    int64 // start of the first delivery of its event
	acked   int64 // end of the first acknowledged delivery
	called  int64 // arrival of its first call
	applied int64 // arrival of the applied call
	waits   bool  // later effects wait for this effect
}

func (j *judge) oneAfterAnother(order object, effects []*effect) {
	var places []place
	for _, e := range effects {
		if p, known := j.place(e); known {
			places = append(places, p)
		}
	}
	before := slices.Clone(places) // sorted by acknowledgement
	slices.SortFunc(before, func(a, b place) int { return cmp.Compare(a.acked, b.acked) })
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.sent, b.sent) })
	var last *place // the preceding effect that was applied last
	i := 0
	for _, p := range places {
		for ; i < len(before) && before[i].acked < p.sent; i++ {
			if b := &before[i]; b.waits && (last == nil || b.applied > last.applied) {
				last = b
			}
		}
		if last != nil && p.called < last.applied {
			j.violated(RuleSequence, p.effect.name(), fmt.Sprintf("%s was called at %s, but %s, which was acknowledged at %s, before the former was sent at %s, was applied only at %s: order %s of %s",
				p.effect.id, at(p.called), last.effect.id, at(last.acked), at(p.sent), at(last.applied), order.key, order.scope), last.effect.name())
		}
	}
}

// place returns the effect's place. It returns false if the effect was never called, its event has
// no delivery in the history, or a replay created the effect.
func (j *judge) place(e *effect) (place, bool) {
	cause := j.events[refOf(e.row)]
	calls := j.calls[e.row.IdempotencyKey]
	if cause == nil || len(cause.deliveries) == 0 || len(calls) == 0 || e.id.Generation > 1 {
		return place{}, false
	}
	p := place{effect: e, sent: cause.deliveries[0].began, acked: math.MaxInt64, called: calls[0].began}
	for _, d := range cause.deliveries {
		if d.acknowledged() {
			p.acked = min(p.acked, d.ended)
		}
	}
	i := slices.IndexFunc(calls, func(c *call) bool { return c.applied })
	if i >= 0 {
		p.applied = calls[i].began
		p.waits = e.row.State == "done" && !slices.ContainsFunc(e.transitions, func(t transitionRow) bool {
			return reopens(t) && t.From != "parked"
		}) && !slices.ContainsFunc(cause.replays, func(r replayRow) bool { return r.PreviousOutcome != "dispatched" })
	}
	return p, true
}

// newestStands checks latest_by. No attempt of an older event's effect begins after a newer
// effect of the same object was done. object_versions contains the newest done effect. Both times
// are the database's.
func (j *judge) newestStands() {
	for o, effects := range j.series(func(row *effectRow) string { return row.LatestKey }) {
		slices.SortFunc(effects, func(a, b *effect) int { return newer(a.row, b.row) })
		var done *effect // the newer effect that was done first
		doneAt := instant(math.MaxInt64)
		for _, e := range slices.Backward(effects) {
			for _, a := range e.attempts {
				if done != nil && newer(e.row, done.row) < 0 && a.StartedAt > doneAt {
					j.violated(RuleSequence, e.name(), fmt.Sprintf("attempt %d at %s began at %s, after the newer %s was done at %s: %s of %s",
						a.Attempt, e.id, at(j.onRun(a.StartedAt)), done.id, at(j.onRun(doneAt)), o.key, o.scope), done.name())
					break
				}
			}
			if when := e.doneAt(); when < doneAt {
				done, doneAt = e, when
			}
		}
		j.remembered(o, effects)
	}
}

// newer compares two effects as latest_by does: by the provider's time, then by arrival.
func newer(a, b *effectRow) int {
	return cmp.Or(cmp.Compare(a.OccurredAt, b.OccurredAt), cmp.Compare(a.AcceptSeq, b.AcceptSeq))
}

// doneAt returns the time at which the effect was done according to its transition log. If the log
// has no such time, doneAt returns the largest instant.
func (e *effect) doneAt() instant {
	for _, t := range e.transitions {
		if t.To == "done" {
			return t.At
		}
	}
	return math.MaxInt64
}

// onRun converts a database time to the run's time.
func (f *facts) onRun(t instant) int64 { return int64(t) + f.clock }

func (j *judge) remembered(o object, ascending []*effect) {
	for _, e := range slices.Backward(ascending) {
		if e.row.State != "done" {
			continue
		}
		row := j.objects[o]
		if newest := j.byKey[row.Effect]; newest != nil && newest.row.ErasedAt != 0 {
			return // the erased effect no longer contains the key of its object
		}
		if row.OccurredAt != e.row.OccurredAt || row.AcceptSeq != e.row.AcceptSeq {
			j.effectViolatedf(RuleSequence, e, "it is the newest done effect of %s, but object_versions has another, with accept_seq %d", o.key, row.AcceptSeq)
		}
		return
	}
}
