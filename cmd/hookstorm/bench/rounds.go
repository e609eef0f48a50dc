package bench

import (
	"cmp"
	"slices"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/meter"
)

// mostStolen is the maximum share of CPU time that this machine's host may give to other guests
// in a round. Above this share, one more round is measured.
const mostStolen = 0.05

// rounds yields the rounds to measure. If the host gave too much CPU time to other guests in a
// round, rounds adds further rounds. The total is at most twice the requested number. The report
// then drops the most disturbed rounds. The choice depends only on the host, never on the
// measurements. A quick run adds no round.
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

// alternately calls the function turn twice in each round, with true and with false. The order
// alternates from round to round.
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

// mostRounds returns the largest number of rounds, including dropped ones.
func (b *bench) mostRounds() int {
	if b.opts.Quick {
		return b.opts.Rounds
	}
	return 2 * b.opts.Rounds
}

// stolenFromNow starts to watch this machine's host. The returned function returns the share of
// CPU time that the host gave to other guests since then.
func stolenFromNow() func() float64 {
	before := meter.Host()
	return func() float64 { return meter.Host().StolenSince(before) }
}
