package checker

import (
	"slices"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// refOf returns the event that created the effect.
func refOf(row *effectRow) identity.EventRef {
	return identity.EventRef{Source: identity.Source(row.Source), EventID: identity.EventID(row.EventID)}
}

// onlyCommitted checks I9. Every call belongs to a committed effect, and every effect to a
// committed event or enqueue.
func (j *judge) onlyCommitted() {
	for key, calls := range j.calls {
		if j.byKey[key] == nil {
			j.violated("I9", key, "a call arrived at "+at(calls[0].began)+" to "+calls[0].destination+" for an effect that is not stored")
		}
	}
	for _, e := range j.effects {
		if e.row == nil {
			continue
		}
		if e.row.EventID != "" {
			if cause := j.events[refOf(e.row)]; cause == nil || cause.row == nil {
				j.effectViolatedf("I9", e, "its event %s is not stored", refOf(e.row))
			}
			continue
		}
		if len(e.links) == 0 && !slices.ContainsFunc(j.enqueues[e.id], (*enqueue).mayStand) {
			j.effectViolatedf("I9", e, "no event led to it, and no transaction that enqueued it committed: %d rolled back", len(j.enqueues[e.id]))
		}
	}
}

// enqueuesStand checks I9 in the other direction. An enqueue that the application committed is
// stored with its body, together with the application's own row.
func (j *judge) enqueuesStand() {
	for id, asked := range j.enqueues {
		e := j.effects[id]
		stands := e != nil && e.row != nil
		i := slices.IndexFunc(asked, func(q *enqueue) bool { return !q.Rollback && q.kind == ok })
		switch {
		case i >= 0 && !stands:
			j.violated("I9", id.IdempotencyKey(), id.String()+": the application committed it, but it is not stored")
		case asked[0].Resends == "" && j.rows[tableApplication] > 0 && stands != (j.application[string(id.Key)] > 0):
			j.violated("I9", id.IdempotencyKey(), id.String()+": the application's row and its effect were one transaction, but only one of them is stored")
		case i >= 0 && e.row.RequestHash != "" && e.row.ErasedAt == 0 && !slices.ContainsFunc(asked, func(q *enqueue) bool { return q.Hash == e.row.RequestHash }):
			j.effectViolatedf("I9", e, "the application enqueued the body %s, but the stored one is %s", short(asked[i].Hash), short(e.row.RequestHash))
		}
	}
}
