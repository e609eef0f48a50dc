package nemesis

import (
	"math/rand/v2"
	"slices"
)

// deck deals the faults of a lane. All come once, in a random order, before any is repeated.
// So a short run has every kind, and in a long one each comes about as often.
type deck struct {
	faults []Fault
	left   []Fault
	missed []Fault
	rnd    *rand.Rand
}

// miss has a fault that did not strike dealt twice the next time.
func (d *deck) miss(fault Fault) {
	if !slices.ContainsFunc(d.missed, func(m Fault) bool { return m.Kind == fault.Kind }) {
		d.missed = append(d.missed, fault)
	}
}

func (d *deck) next() Fault {
	if len(d.left) == 0 {
		d.left = slices.Concat(d.faults, d.missed)
		d.missed = nil
		d.rnd.Shuffle(len(d.left), func(i, j int) { d.left[i], d.left[j] = d.left[j], d.left[i] })
	}
	fault := d.left[0]
	d.left = d.left[1:]
	return fault
}
