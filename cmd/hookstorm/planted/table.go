package planted

import (
	"slices"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
)

// Cases returns all of them, in the order of bugs.All.
func Cases() []Case {
	all := slices.Concat(accepting(), dispatching(), performing(), keeping())
	for i, c := range all {
		for _, m := range bugs.Mutants() {
			if m.Name == string(c.Bug) {
				all[i].Schedule = m.Schedule
			}
		}
	}
	return all
}

// CaseOf returns the case of a bug.
func CaseOf(bug bugs.Bug) (_ Case, found bool) {
	for _, c := range Cases() {
		if c.Bug == bug {
			return c, true
		}
	}
	return Case{}, false
}

func accepting() []Case {
	return []Case{
		{Bug: bugs.AckBeforeCommit, Rules: []checker.Rule{"I1"}, run: ackBeforeCommit},
		{Bug: bugs.SelectThenInsert, Rules: []checker.Rule{"I2"}, run: selectThenInsert},
		{Bug: bugs.JobOutsideTransaction, Rules: []checker.Rule{"I5"}, run: jobOutsideTransaction},
		{Bug: bugs.DedupOwnTransaction, Rules: []checker.Rule{"I1"}, run: dedupOwnTransaction},
		{Bug: bugs.BodyHashAsKey, Rules: []checker.Rule{"I1"}, run: bodyHashAsKey},
		{Bug: bugs.CommitOnRequestContext, Rules: []checker.Rule{"I1"}, run: commitOnRequestContext},
		{Bug: bugs.SafeToRetryBelieved, Rules: []checker.Rule{checker.RuleLinear}, run: safeToRetryBelieved},
		{
			Bug: bugs.SynchronousCommitOff, Rules: []checker.Rule{"I1"}, run: synchronousCommitOff,
			// What nobody waits for is written late, and by nobody else.
			settings: map[string]string{"wal_writer_delay": "10s", "autovacuum": "off", "max_connections": "100"},
		},
		{Bug: bugs.CacheFilledBeforeCommit, Rules: []checker.Rule{"I1"}, run: cacheFilledBeforeCommit},
		{Bug: bugs.WindowOfADuplicate, Rules: []checker.Rule{"I1"}, run: windowOfADuplicate},
	}
}

func dispatching() []Case {
	return []Case{
		{Bug: bugs.DispatchWithoutFence, Rules: []checker.Rule{"I10"}, run: dispatchWithoutFence},
		{Bug: bugs.CompensatingDelete, Rules: []checker.Rule{"I1"}, run: compensatingDelete},
		{Bug: bugs.ReplayUnrecorded, Rules: []checker.Rule{"I11"}, run: replayUnrecorded},
		{Bug: bugs.OldProcessDecides, Rules: []checker.Rule{checker.RuleNewest}, run: oldProcessDecides},
	}
}

func performing() []Case {
	return []Case{
		{Bug: bugs.SettleWithoutFence, Rules: []checker.Rule{checker.RuleLedger}, run: settleWithoutFence},
		{Bug: bugs.NewKeyOnRetry, Rules: []checker.Rule{"I7"}, run: answeredByAnError},
		{Bug: bugs.DoneBeforeWork, Rules: []checker.Rule{"I6"}, run: answeredByAnError},
		{Bug: bugs.ExternalCallBeforeCommit, Rules: []checker.Rule{"I8"}, run: externalCallBeforeCommit},
		{Bug: bugs.LeaseIgnored, Rules: []checker.Rule{"I8"}, run: leaseIgnored},
		{Bug: bugs.OrderLockDropped, Rules: []checker.Rule{"I5"}, run: orderLockDropped},
		{Bug: bugs.ProbePassesPause, Rules: []checker.Rule{checker.RulePause}, run: probePassesPause},
	}
}

func keeping() []Case {
	return []Case{
		{Bug: bugs.RetentionBelowWindow, Rules: []checker.Rule{"I2", checker.RuleLinear}, run: retentionBelowWindow},
	}
}
