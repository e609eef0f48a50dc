package nemesis

import "math/rand/v2"

// deck deals the faults of a lane: all of them once, in a random order, before any
// comes again. So a short run sees every kind, and a long one each about as often.
type deck struct {
	faults []Fault
	left   []Fault
	rnd    *rand.Rand
}

func (d *deck) next() Fault {
	if len(d.left) == 0 {
		d.left = append(d.left, d.faults...)
		d.rnd.Shuffle(len(d.left), func(i, j int) { d.left[i], d.left[j] = d.left[j], d.left[i] })
	}
	fault := d.left[0]
	d.left = d.left[1:]
	return fault
}
