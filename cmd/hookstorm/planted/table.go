package planted

import (
	"slices"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
	bugs "github.com/hooklatch/hooklatch/outbox/planted"
)

// Cases returns all of them, in the order of bugs.Bugs.
func Cases() []Case { return slices.Concat(accepting(), dispatching(), performing(), keeping()) }

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
		{
			Bug: bugs.AckBeforeCommit, Rules: []checker.Rule{"I1"}, run: ackBeforeCommit,
			Schedule: "COMMIT comes late; the gateway is killed as soon as it has answered",
		},
		{
			Bug: bugs.SelectThenInsert, Rules: []checker.Rule{"I2"}, run: selectThenInsert,
			Schedule: "two deliveries of one event at once, and COMMIT comes late",
		},
		{
			Bug: bugs.JobOutsideTransaction, Rules: []checker.Rule{"I5"}, run: jobOutsideTransaction,
			Schedule: "COMMIT comes late, and a worker is free",
		},
		{
			Bug: bugs.DedupOwnTransaction, Rules: []checker.Rule{"I1"}, run: dedupOwnTransaction,
			Schedule: "the gateway is killed once the events are inserted; the sender delivers again",
		},
		{
			Bug: bugs.BodyHashAsKey, Rules: []checker.Rule{"I1"}, run: bodyHashAsKey,
			Schedule: "two events with the same body",
		},
		{
			Bug: bugs.CommitOnRequestContext, Rules: []checker.Rule{"I1"}, run: commitOnRequestContext,
			Schedule: "two deliveries share a late COMMIT, and the first client hangs up before it",
		},
		{
			Bug: bugs.SafeToRetryBelieved, Rules: []checker.Rule{checker.RuleLinear}, run: safeToRetryBelieved,
			Schedule: "the answer to the COMMIT of one delivery is lost",
		},
		{
			Bug: bugs.SynchronousCommitOff, Rules: []checker.Rule{"I1"}, run: synchronousCommitOff,
			Schedule: "the server crashes right after the acknowledgements",
			// What nobody waits for is written late, and by nobody else.
			settings: map[string]string{"wal_writer_delay": "10s", "autovacuum": "off", "max_connections": "100"},
		},
		{
			Bug: bugs.CacheFilledBeforeCommit, Rules: []checker.Rule{"I1"}, run: cacheFilledBeforeCommit,
			Schedule: "an event comes again while its COMMIT is late; the gateway is killed as soon as that is answered",
		},
		{
			Bug: bugs.WindowOfADuplicate, Rules: []checker.Rule{"I1"}, run: windowOfADuplicate,
			Schedule: "an event comes again with another body, and then a new event with that body",
		},
	}
}

func dispatching() []Case {
	return []Case{
		{
			Bug: bugs.DispatchWithoutFence, Rules: []checker.Rule{"I10"}, run: dispatchWithoutFence,
			Schedule: "the job of an event comes twice: its first run is stopped before COMMIT, and goes on when the second waits for it",
		},
		{
			Bug: bugs.CompensatingDelete, Rules: []checker.Rule{"I1"}, run: compensatingDelete,
			Schedule: "the last attempt to dispatch an event fails; a person replays it",
		},
		{
			Bug: bugs.ReplayUnrecorded, Rules: []checker.Rule{"I11"}, run: replayUnrecorded,
			Schedule: "a person replays an event that was dispatched",
		},
		{
			Bug: bugs.OldProcessDecides, Rules: []checker.Rule{checker.RuleNewest}, run: oldProcessDecides,
			Schedule: "a worker with a new route starts beside one without it, and is stopped while an event for the route comes",
		},
	}
}

func performing() []Case {
	return []Case{
		{
			Bug: bugs.SettleWithoutFence, Rules: []checker.Rule{checker.RuleLedger}, run: settleWithoutFence,
			Schedule: "a worker is stopped with a refusal in its hands until its lease is over, and goes on while the next attempt is at work",
		},
		{
			Bug: bugs.NewKeyOnRetry, Rules: []checker.Rule{"I7"}, run: answeredByAnError,
			Schedule: "the receiver answers the first call with 500",
		},
		{
			Bug: bugs.DoneBeforeWork, Rules: []checker.Rule{"I6"}, run: answeredByAnError,
			Schedule: "the receiver answers the first call with 500",
		},
		{
			Bug: bugs.ExternalCallBeforeCommit, Rules: []checker.Rule{"I8"}, run: externalCallBeforeCommit,
			Schedule: "the first transactions of attempts at at_most_once effects fail at their COMMIT",
		},
		{
			Bug: bugs.LeaseIgnored, Rules: []checker.Rule{"I8"}, run: leaseIgnored,
			Schedule: "the job of an at_most_once effect comes twice, while its receiver is slow",
		},
		{
			Bug: bugs.OrderLockDropped, Rules: []checker.Rule{"I5"}, run: orderLockDropped,
			Schedule: "of three effects in an order the first is settled while a person cancels the second",
		},
		{
			Bug: bugs.ProbePassesPause, Rules: []checker.Rule{checker.RulePause}, run: probePassesPause,
			Schedule: "the worker is stopped once a probe may begin, and a person pauses the destination before it goes on",
		},
	}
}

func keeping() []Case {
	return []Case{
		{
			Bug: bugs.RetentionBelowWindow, Rules: []checker.Rule{"I2", checker.RuleLinear}, run: retentionBelowWindow,
			Schedule: "retention runs when an event is done; its sender delivers it again",
		},
	}
}
