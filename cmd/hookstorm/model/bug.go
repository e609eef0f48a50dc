package model

import (
	"fmt"
	"slices"
)

// Bug is a mistake that the worlds can be told to make.
type Bug string

// The planted bugs, by the names they have in the planted build as well.
const (
	NoBug                    Bug = ""
	AckBeforeCommit          Bug = "ack_before_commit"
	SelectThenInsert         Bug = "select_then_insert"
	JobOutsideTransaction    Bug = "job_outside_transaction"
	DispatchWithoutFence     Bug = "dispatch_without_fence"
	SettleWithoutFence       Bug = "settle_without_fence"
	NewKeyOnRetry            Bug = "new_key_on_retry"
	DedupOwnTransaction      Bug = "dedup_own_transaction"
	CompensatingDelete       Bug = "compensating_delete"
	DoneBeforeWork           Bug = "done_before_work"
	BodyHashAsKey            Bug = "body_hash_as_key"
	ExternalCallBeforeCommit Bug = "external_call_before_commit"
	CommitOnRequestContext   Bug = "commit_on_request_context"
	SafeToRetryBelieved      Bug = "safe_to_retry_believed"
	SynchronousCommitOff     Bug = "synchronous_commit_off"
	LeaseIgnored             Bug = "lease_ignored"
	OrderLockDropped         Bug = "order_lock_dropped"
	ReplayUnrecorded         Bug = "replay_unrecorded"
	ProbePassesPause         Bug = "probe_passes_pause"
	CacheFilledBeforeCommit  Bug = "cache_filled_before_commit"
	OldProcessDecides        Bug = "old_process_decides"
	WindowOfADuplicate       Bug = "window_of_a_duplicate"
	RetentionBelowWindow     Bug = "retention_below_window"

	// NothingReconciled is here only: it shows that the search for what does not end
	// finds it.
	NothingReconciled Bug = "nothing_reconciled"
)

// Planted describes a bug and what becomes of it in the model.
type Planted struct {
	Bug    Bug
	What   string    // the mistake
	Breaks Invariant // that the model finds; Intact when the model does not cover the bug
	In     string    // the name of the world that it is found in
	WhyNot string    // the model does not cover it
}

// PlantedBugs lists every bug of the planted build, and what the model says of it.
func PlantedBugs() []Planted {
	return []Planted{
		{Bug: AckBeforeCommit, What: "the gateway answers 2xx and commits afterwards", Breaks: I1, In: callsAtLeastOnce},
		{Bug: SelectThenInsert, What: "the event is looked for and then inserted, without a key to stop two", Breaks: I2, In: callsAtLeastOnce},
		{Bug: JobOutsideTransaction, What: "the job is inserted when the event is committed", Breaks: I1, In: callsAtLeastOnce},
		{Bug: DispatchWithoutFence, What: "a dispatch does not ask whether the event was dispatched", Breaks: I4, In: callsAtLeastOnce},
		{Bug: SettleWithoutFence, What: "a settlement matches whatever attempt is at work", Breaks: I8, In: callsAtMostOnce},
		{Bug: NewKeyOnRetry, What: "an attempt after the first carries a key of its own", Breaks: I7, In: callsAtLeastOnce},
		{Bug: DedupOwnTransaction, What: "the key of the event is committed before the event", Breaks: I1, In: callsAtLeastOnce},
		{Bug: CompensatingDelete, What: "an event that could not be answered for is deleted again", Breaks: I1, In: callsAtLeastOnce},
		{Bug: DoneBeforeWork, What: "the effect is done before the receiver is called", Breaks: I6, In: callsAtLeastOnce},
		{Bug: BodyHashAsKey, What: "the hash of the body is the key of the event", Breaks: I2, In: callsAtLeastOnce},
		{Bug: ExternalCallBeforeCommit, What: "the receiver is called before the claim is committed", Breaks: I8, In: callsAtMostOnce},
		{Bug: CommitOnRequestContext, What: "COMMIT ends with the patience of whoever waits for it", WhyNot: "a COMMIT that is given up has an unknown outcome, " +
			"which the protocol survives at any time: it harms the others of its batch, and the model has no batches"},
		{Bug: SafeToRetryBelieved, What: "a COMMIT without an answer is taken for one that did not happen", Breaks: I11, In: callsAtLeastOnce},
		{Bug: SynchronousCommitOff, What: "COMMIT does not wait for the disk, and the server is killed", Breaks: I1, In: callsAtLeastOnce},
		{Bug: LeaseIgnored, What: "a claim takes an effect whose attempt has its lease", Breaks: LeaseKept, In: callsAtLeastOnce},
		{Bug: OrderLockDropped, What: "a claim looks whose turn it is without a lock of the order", Breaks: OrderKept, In: anOrder},
		{Bug: ReplayUnrecorded, What: "a replay leaves no row behind", Breaks: I11, In: callsAtLeastOnce},
		{Bug: ProbePassesPause, What: "a probe passes an operator's pause as it passes a breaker", Breaks: PauseKept, In: aBreaker},
		{Bug: OldProcessDecides, What: "a process with an older configuration plans what the newest one would plan", Breaks: NewestDecides, In: twoConfigurations},
		{Bug: WindowOfADuplicate, What: "a duplicate opens the window of a body that is not stored", Breaks: I1, In: byContent},
		{Bug: CacheFilledBeforeCommit, What: "a gateway knows an event again before it is committed", WhyNot: "what a gateway remembers only " +
			"spares it a question to the database: an answer before the COMMIT is ack_before_commit, which the model has"},
		{Bug: RetentionBelowWindow, What: "events are forgotten while their senders may still deliver them again", WhyNot: "nothing in the model grows " +
			"old: retention deletes what has ended, and what follows from that comes with the next delivery of the event"},
		{Bug: NothingReconciled, What: "nobody looks for work that has lost its job", Breaks: I5, In: callsAtLeastOnce},
	}
}

// check says why a bug cannot be looked for.
func (b Bug) check() error {
	if b == NoBug {
		return nil
	}
	bugs := PlantedBugs()
	i := slices.IndexFunc(bugs, func(p Planted) bool { return p.Bug == b })
	switch {
	case i < 0:
		return fmt.Errorf("there is no planted bug %q", b)
	case bugs[i].Breaks == Intact:
		return fmt.Errorf("the model does not cover %s: %s", b, bugs[i].WhyNot)
	}
	return nil
}

// worldOf is the world of that name that a bug is found in; all of them without one.
func worldOf(bug Bug, worlds []World) []World {
	for _, p := range PlantedBugs() {
		if i := slices.IndexFunc(worlds, func(w World) bool { return w.Name == p.In }); p.Bug == bug && i >= 0 {
			return worlds[i : i+1]
		}
	}
	return worlds
}
