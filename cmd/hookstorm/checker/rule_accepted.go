package checker

import "slices"

// acknowledgedIsStored checks I1. All events of a delivery that was answered with 2xx are stored,
// with a body that was sent. If the source deduplicates by content, an event with the same body and
// another id suffices. If the delivery was answered accepted, at least one of its events is stored
// with the delivery's body. Every event in a sender's list is stored, whatever responses its
// deliveries got. An imported event has no stored delivery.
func (j *judge) acknowledgedIsStored() {
	for _, d := range j.deliveries {
		if d.listed && !d.acknowledged() && d.events[0].row == nil {
			j.eventViolatedf("I1", d.events[0], "its sender lists the event, but it is not stored")
		}
		if !d.acknowledged() {
			continue
		}
		for _, e := range d.events {
			if e.row == nil && !j.repeats(d) {
				j.eventViolatedf("I1", e, "a delivery was answered %d at %s, but the event is not stored", d.status, at(d.ended))
			}
		}
		if d.accepted && !j.standsFor(d) && !anotherStands(d, j) {
			j.eventViolatedf("I1", d.events[0], "a delivery was answered accepted at %s, but none of its events is stored with its body", at(d.ended))
		}
	}
	for _, e := range j.events {
		if e.row == nil {
			continue
		}
		body, stored := j.bodies[e.row.DeliveryID]
		switch {
		case e.row.imported():
			if stored {
				j.eventViolatedf("I1", e, "the event was imported, but a delivery is stored for it")
			}
		case !stored:
			j.eventViolatedf("I1", e, "the event is stored, but not the delivery that contained it")
		case j.erased[e.row.DeliveryID]:
		case len(e.deliveries) > 0 && !slices.ContainsFunc(e.deliveries, func(d *delivery) bool { return d.hash == body.Hash }):
			j.eventViolatedf("I1", e, "the stored body, %s, was never sent", short(body.Hash))
		}
	}
}

// standsFor reports whether at least one event of d is stored with d's body. An event that is not
// stored counts too, because it is reported separately.
func (j *judge) standsFor(d *delivery) bool {
	return slices.ContainsFunc(d.events, func(e *event) bool {
		return e.row == nil || j.cameAs(e.row, d.hash)
	})
}

// cameAs reports whether an event is stored with this body. It also returns true if an event of the
// stored delivery was erased or redacted, because the body's original hash is then unknown.
func (j *judge) cameAs(row *eventRow, hash string) bool {
	return j.erased[row.DeliveryID] || j.bodies[row.DeliveryID].Hash == hash
}

// erasedWasOrdered checks I1. Content is erased only by a recorded operator action.
func (j *judge) erasedWasOrdered() {
	for _, e := range j.events {
		if e.row != nil && e.row.ErasedAt != 0 && j.logged[instruction{"event.erase", e.ref.String()}] == 0 {
			j.eventViolatedf("I1", e, "the event is erased, but no operator action requested it")
		}
	}
}

// anotherStands reports whether one of d's events has another accepted delivery that is stored.
// Two accepted deliveries of one event break I2, which another rule checks.
func anotherStands(d *delivery, j *judge) bool {
	return slices.ContainsFunc(d.events, func(e *event) bool {
		return slices.ContainsFunc(e.deliveries, func(other *delivery) bool { return other != d && other.accepted && j.standsFor(other) })
	})
}

// attempted identifies a sender's attempts to deliver the same content.
type attempted struct {
	first *event
	hash  string
}

// acceptedOnce checks I2. An event has one row, and at most one of its deliveries was answered
// accepted. A delivery of unknown outcome may have been the accepted one, but not if another
// delivery was answered accepted. For a delivery with many events, accepted means that at least
// one event was new. So a body has no more accepted responses than stored deliveries.
func (j *judge) acceptedOnce() {
	for _, e := range j.events {
		if e.rows > 1 {
			j.eventViolatedf("I2", e, "the event has %d rows", e.rows)
		}
	}
	answers := make(map[attempted][]*delivery)
	for _, d := range j.deliveries {
		if d.accepted && len(d.events) > 0 {
			key := attempted{d.events[0], d.hash}
			answers[key] = append(answers[key], d)
		}
	}
	for key, accepted := range answers {
		first := accepted[0]
		if stored := j.storedFor(first); stored > 0 && len(accepted) > stored {
			j.eventViolatedf("I2", key.first, "%d of its deliveries were answered accepted, the last at %s", len(accepted), at(accepted[len(accepted)-1].ended))
		} else if !j.standsFor(first) && anotherStands(first, j) {
			j.eventViolatedf("I2", key.first, "a delivery whose body differs from the stored one was answered accepted too, at %s", at(first.ended))
		}
	}
}

// storedFor counts the stored deliveries with d's body and at least one event of d.
func (j *judge) storedFor(d *delivery) int {
	ids := make(map[string]bool)
	for _, e := range d.events {
		if e.row != nil && j.cameAs(e.row, d.hash) {
			ids[e.row.DeliveryID] = true
		}
	}
	return len(ids)
}

// short returns a hash prefix that is long enough to compare by eye.
func short(hash string) string {
	if len(hash) > 12 {
		return hash[:12]
	}
	return hash
}
