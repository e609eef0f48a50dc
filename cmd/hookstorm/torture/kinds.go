package torture

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/nemesis"
	"github.com/hooklatch/hooklatch/internal/retry"
)

// fire injects a fault: see nemesis.Fault.
type fire = func(ctx context.Context, rnd *rand.Rand, struck func(target, detail string)) error

// kinds returns the faults of this run. It returns an error if Options.Only lists a kind that does
// not exist in this run.
func (w *world) kinds() ([]nemesis.Fault, error) {
	all := slices.Concat(w.serverFaults(), w.networkFaults(), w.sessionFaults(), w.processFaults(), w.receiverFaults(), w.inputFaults(), w.deployFaults(), w.redisFaults())
	if len(w.opts.Only) == 0 {
		if w.opts.Cluster == Patroni {
			return w.serverFaults(), nil // other faults would hide the consequences of a failover
		}
		return all, nil
	}
	for _, kind := range w.opts.Only {
		if !slices.ContainsFunc(all, func(f nemesis.Fault) bool { return f.Kind == kind }) {
			return nil, fmt.Errorf("no fault %q exists here; choose from %s", kind, strings.Join(kindsOf(all), ", "))
		}
	}
	return slices.DeleteFunc(all, func(f nemesis.Fault) bool { return !slices.Contains(w.opts.Only, f.Kind) }), nil
}

// minFaults returns the number of faults by which a run shows that all its lanes kept dealing them.
func (w *world) minFaults() int {
	if w.opts.Cluster == Patroni {
		return int(w.opts.Time.Seconds() / 10)
	}
	lanes := make(map[nemesis.Lane]bool)
	for _, fault := range w.chosen {
		lanes[fault.Lane] = true
	}
	return len(lanes) * int(w.opts.Time.Seconds()) / 30
}

func kindsOf(faults []nemesis.Fault) []string {
	var kinds []string
	for _, f := range faults {
		kinds = append(kinds, f.Kind)
	}
	return kinds
}

// sortedByKind gives the faults a fixed order, so that a seed always chooses the same faults.
func sortedByKind(faults []nemesis.Fault) []nemesis.Fault {
	return slices.SortedFunc(slices.Values(faults), func(a, b nemesis.Fault) int { return cmp.Compare(a.Kind, b.Kind) })
}

// sleep waits for d, or until ctx is done, and reports whether it waited for d.
func sleep(ctx context.Context, d time.Duration) bool { return retry.Wait(ctx, d) == nil }

// upTo returns a random time shorter than d.
func upTo(rnd *rand.Rand, d time.Duration) time.Duration { return time.Duration(rnd.Int64N(int64(d))) }
