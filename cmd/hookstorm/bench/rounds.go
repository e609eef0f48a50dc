package bench

import (
	"cmp"
	"slices"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/meter"
)

// mostStolen is the share of the CPU time that the host of this machine may give to
// others in a round, before one more round is measured.
const mostStolen = 0.05

// rounds counts the rounds that are measured. Where the host gave CPU time to others,
// as many again may follow, and those in which it gave most are left out: they are
// chosen by what the host did, never by what was measured. A quick run measures none
// again.
func (b *bench) rounds(yield func(round int) bool) {
	type taken struct {
		mark   int
		stolen float64
	}
	var kept []taken
	disturbed := func(one taken) bool { return one.stolen > mostStolen }
	for n := 0; n < b.opts.Rounds || n < b.mostRounds() && slices.ContainsFunc(kept, disturbed); n++ {
		b.marks++
		one := taken{mark: b.marks}
		b.report.Mark(one.mark)
		stolen := b.stolen()
		more := yield(n)
		one.stolen = stolen()
		b.report.Mark(0)
		if !more {
			return
		}
		if kept = append(kept, one); len(kept) > b.opts.Rounds {
			slices.SortStableFunc(kept, func(a, b taken) int { return cmp.Compare(a.stolen, b.stolen) })
			b.report.Forget(kept[b.opts.Rounds].mark)
			kept = kept[:b.opts.Rounds]
		}
	}
	for _, one := range kept {
		b.report.Stolen = append(b.report.Stolen, one.stolen)
	}
}

// alternately gives each round a turn without something and one with it, of which either
// comes first every other time.
func (b *bench) alternately(turn func(with bool) error) error {
	for round := range b.rounds {
		first := round%2 == 1
		if err := turn(first); err != nil {
			return err
		}
		if err := turn(!first); err != nil {
			return err
		}
	}
	return nil
}

// mostRounds is how many there may be, with those that are left out.
func (b *bench) mostRounds() int {
	if b.opts.Quick {
		return b.opts.Rounds
	}
	return 2 * b.opts.Rounds
}

// stolenFromNow watches the host of this machine until it is asked for the share of
// the CPU time that the host gave to others.
func stolenFromNow() func() float64 {
	before := meter.Host()
	return func() float64 { return meter.Host().StolenSince(before) }
}
