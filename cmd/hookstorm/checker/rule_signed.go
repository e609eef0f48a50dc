package checker

import (
	"slices"
)

// storedWasSigned checks I3. An event is stored only if it was sent with a valid signature,
// imported, or fetched from its sender's list. A delivery without a valid signature is not answered
// 2xx.
func (j *judge) storedWasSigned() {
	for _, d := range j.deliveries {
		if d.acknowledged() && !d.signed && len(d.events) > 0 {
			j.eventViolatedf("I3", d.events[0], "a delivery without a valid signature was answered %d at %s", d.status, at(d.ended))
		}
	}
	for _, e := range j.events {
		if e.row == nil {
			continue
		}
		if e.row.imported() {
			continue // an operator imported the event without its signature
		}
		if e.row.fetched() && slices.ContainsFunc(e.deliveries, func(d *delivery) bool { return d.listed }) {
			continue // the sender's list proves that the sender created the event
		}
		if len(e.deliveries) == 0 {
			j.eventViolatedf("I3", e, "the event is stored, but no sender sent it")
			continue
		}
		hash := j.bodies[e.row.DeliveryID].Hash
		same := func(d *delivery) bool { return d.hash == hash }
		valid := func(d *delivery) bool { return d.hash == hash && d.signed && d.mayCount() }
		if slices.ContainsFunc(e.deliveries, same) && !slices.ContainsFunc(e.deliveries, valid) && !slices.ContainsFunc(e.deliveries, acknowledged) {
			j.eventViolatedf("I3", e, "the event is stored, but every delivery of its body was unsigned or refused")
		}
	}
}

func acknowledged(d *delivery) bool { return d.acknowledged() }
