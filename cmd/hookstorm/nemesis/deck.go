package nemesis

import (
	"math/rand/v2"
	"slices"
)

// deck deals a lane's faults in rounds. Each round has every fault once, in random order, and once
// more if the fault missed in the round before. So a short run has every kind, and in a long run
// each kind strikes about equally often.
type deck struct {
	faults []Fault
	left   []Fault
	missed []Fault
	rnd    *rand.Rand
}

// miss makes the deck deal a fault twice in the next round, because the fault did not strike.
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
