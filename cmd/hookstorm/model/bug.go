package model

import (
	"fmt"
	"slices"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"
)

// NothingReconciled is a bug of the model only: missing jobs are never enqueued. It shows that
// Explore finds work that never finishes (I5).
const NothingReconciled bugs.Bug = "nothing_reconciled"

// Planted describes a bug and its effect in the model.
type Planted struct {
	Bug    bugs.Bug
	Breaks Invariant // the violation that the model finds; Intact if the model does not cover the bug
	In     string    // the name of the world that shows the bug
	WhyNot string    // reason why the model does not cover the bug
}

// PlantedBugs returns every bug of bugs.All, and NothingReconciled, with its effect in the model.
func PlantedBugs() []Planted {
	return []Planted{
		{Bug: bugs.AckBeforeCommit, Breaks: I1, In: callsAtLeastOnce},
		{Bug: bugs.SelectThenInsert, Breaks: I2, In: callsAtLeastOnce},
		{Bug: bugs.JobOutsideTransaction, Breaks: I1, In: callsAtLeastOnce},
		{Bug: bugs.DispatchWithoutFence, Breaks: I4, In: callsAtLeastOnce},
		{Bug: bugs.SettleWithoutFence, Breaks: I8, In: callsAtMostOnce},
		{Bug: bugs.NewKeyOnRetry, Breaks: I7, In: callsAtLeastOnce},
		{Bug: bugs.DedupOwnTransaction, Breaks: I1, In: callsAtLeastOnce},
		{Bug: bugs.CompensatingDelete, Breaks: I1, In: callsAtLeastOnce},
		{Bug: bugs.DoneBeforeWork, Breaks: I6, In: callsAtLeastOnce},
		{Bug: bugs.BodyHashAsKey, Breaks: I2, In: callsAtLeastOnce},
		{Bug: bugs.ExternalCallBeforeCommit, Breaks: I8, In: callsAtMostOnce},
		{Bug: bugs.CommitOnRequestContext, WhyNot: "an abandoned COMMIT has an unknown outcome, " +
			"which the protocol survives at any time. It harms other deliveries in its batch, and the model has no batches"},
		{Bug: bugs.SafeToRetryBelieved, Breaks: I11, In: callsAtLeastOnce},
		{Bug: bugs.SynchronousCommitOff, Breaks: I1, In: callsAtLeastOnce},
		{Bug: bugs.LeaseIgnored, Breaks: LeaseKept, In: callsAtLeastOnce},
		{Bug: bugs.OrderLockDropped, Breaks: OrderKept, In: anOrder},
		{Bug: bugs.ReplayUnrecorded, Breaks: I11, In: callsAtLeastOnce},
		{Bug: bugs.ProbePassesPause, Breaks: PauseKept, In: aBreaker},
		{Bug: bugs.OldProcessDecides, Breaks: NewestDecides, In: twoConfigurations},
		{Bug: bugs.WindowOfADuplicate, Breaks: I1, In: byContent},
		{Bug: bugs.CacheFilledBeforeCommit, WhyNot: "a gateway's cache only " +
			"saves a database query. A response before the COMMIT is ack_before_commit, which the model covers"},
		{Bug: bugs.SharedBeforeCommit, WhyNot: "a shared cache only saves a database query, as a gateway's cache does"},
		{Bug: bugs.SharedWithoutLife, WhyNot: "the model has one database"},
		{Bug: bugs.RetentionBelowWindow, WhyNot: "nothing in the model ages: " +
			"retention deletes finished work, and its consequences appear with the event's next delivery"},
		{Bug: NothingReconciled, Breaks: I5, In: callsAtLeastOnce},
	}
}

// check returns an error that says why the model cannot look for a bug, or nil.
func check(bug bugs.Bug) error {
	if bug == "" {
		return nil
	}
	all := PlantedBugs()
	i := slices.IndexFunc(all, func(p Planted) bool { return p.Bug == bug })
	switch {
	case i < 0:
		return fmt.Errorf("no planted bug %q exists", bug)
	case all[i].Breaks == Intact:
		return fmt.Errorf("the model does not cover %s: %s", bug, all[i].WhyNot)
	}
	return nil
}

// worldOf returns the world that shows a bug, or all worlds if none does.
func worldOf(bug bugs.Bug, worlds []World) []World {
	for _, p := range PlantedBugs() {
		if i := slices.IndexFunc(worlds, func(w World) bool { return w.Name == p.In }); p.Bug == bug && i >= 0 {
			return worlds[i : i+1]
		}
	}
	return worlds
}
